CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.boards (
    id text NOT NULL COLLATE pg_catalog."C",
    opened_at bigint NOT NULL
);
COMMENT ON COLUMN public.boards.opened_at IS 'microseconds UTC';
CREATE TABLE public.events (
    board text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    kind text NOT NULL,
    version integer NOT NULL,
    actor text NOT NULL COLLATE pg_catalog."C",
    turn bigint,
    command_id text NOT NULL COLLATE pg_catalog."C",
    request_digest bytea,
    key text COLLATE pg_catalog."C",
    revision bigint,
    recorded_at bigint NOT NULL,
    body text,
    salt bytea,
    body_digest bytea NOT NULL,
    hash bytea NOT NULL
);
COMMENT ON COLUMN public.events.recorded_at IS 'microseconds UTC';
COMMENT ON COLUMN public.events.body IS 'canonical JSON, digested as stored; NULL once redacted';
COMMENT ON COLUMN public.events.salt IS '16 bytes; NULL once redacted';
CREATE TABLE public.formats (
    format integer NOT NULL,
    release text NOT NULL
);
COMMENT ON COLUMN public.formats.release IS 'the first release that reads this format';
CREATE TABLE public.revisions (
    revision text NOT NULL COLLATE pg_catalog."C",
    release text NOT NULL,
    works_from text NOT NULL
);
COMMENT ON COLUMN public.revisions.release IS 'the release that brought it';
COMMENT ON COLUMN public.revisions.works_from IS 'the oldest revision whose release works on it';
CREATE TABLE public.saved_boards (
    board text NOT NULL COLLATE pg_catalog."C",
    fingerprint text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    digest bytea NOT NULL,
    parts integer NOT NULL,
    bytes bigint NOT NULL
);
COMMENT ON COLUMN public.saved_boards.digest IS 'of the log''s hash at seq and the whole state';
COMMENT ON COLUMN public.saved_boards.bytes IS 'of all parts';
CREATE TABLE public.saved_parts (
    board text NOT NULL COLLATE pg_catalog."C",
    fingerprint text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    part integer NOT NULL,
    state bytea NOT NULL
);
COMMENT ON COLUMN public.saved_parts.part IS '0.. : a large state is stored in parts';
CREATE TABLE public.snapshots (
    board text NOT NULL COLLATE pg_catalog."C",
    fingerprint text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    part integer NOT NULL,
    digest bytea NOT NULL,
    state bytea NOT NULL
);
COMMENT ON COLUMN public.snapshots.part IS '0.. : a large state is stored in parts';
COMMENT ON COLUMN public.snapshots.digest IS 'of the log''s hash at seq and the whole state';
CREATE TABLE public.tokens (
    id text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    role text NOT NULL,
    name text NOT NULL,
    boards text NOT NULL,
    grants text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint
);
COMMENT ON COLUMN public.tokens.digest IS 'SHA-256 of the secret';
COMMENT ON COLUMN public.tokens.boards IS 'JSON list of patterns';
COMMENT ON COLUMN public.tokens.grants IS 'JSON object';
COMMENT ON COLUMN public.tokens.created_at IS 'microseconds UTC';
INSERT INTO public.alembic_version VALUES
	('0003');
INSERT INTO public.boards VALUES
	('Swarm-3', 1796104285783440),
	('refunds-3', 1796104285878987);
INSERT INTO public.events VALUES
	('Swarm-3', 1, 'board.opened', 1, 'operator:ops', NULL, '01a230286e54-f1310396dc845fc03379', '\x54b73bbf29536de284b203bed61fcb81ed634fb267462f694a87cf26656a16ae', NULL, NULL, 1796104285783440, '{"format":3,"name":"Swarm-3","policy":{"broadcast":true,"completion":"reread","completion_window":8,"coordinator":null,"covers_pointer":"/covers","demotion":"revalidate","finished":["done"],"on_unnotifiable":"single-writer","require_view":true,"revisions":"advancing","signals":{"citation-decay":{"effect":"suspect","minimum":4,"ratio":0.5,"window":8},"completion-over-open":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"confidence-inflation":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"invented-record":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"read-elision":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"revision-break":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"write-breadth":{"effect":"off","minimum":3,"ratio":0.5,"window":8}},"status_pointer":"/status","unfinished":["open","running"],"unseen":"block"}}', '\xb634403c72fc7a7cc9b312618a67e349', '\x790f41d49e464cbaee16953b70a89940853d9955f547327e186867a178a6c705', '\xbddc14fd64c3f3333b1851580998414bba353829a37a1b295cb54ef6d6eef79c'),
	('Swarm-3', 2, 'agent.joined', 1, 'operator:ops', NULL, '01a230286e65-1de4a1b1a443b81ce11f', '\x474edcc7d7fe60ac80104f7400eb022020096d7c3505fda205c6bd2a1eae800d', NULL, NULL, 1796104285797910, '{"agent":"executor","prefix":"task/"}', '\xfe41a9663c4ba3fc7b9d107c2bf24617', '\x00db08573b9e394281723a9c150357c8d8235ea39901c5063d8f8ede8452fefd', '\x2f1fa0373ff2de1305cc963726c45c60433e69bf20802fe4ffee8c7fd48a8f89'),
	('Swarm-3', 3, 'entry.written', 1, 'agent:planner', 1, '01a230286e69-a1ec7d91a3c566fae7f9', '\x2775c13e0a1a73eb2ad0361401af5237cf0f3f252fe1c591aed8007f9d6b2e98', 'task/a', 1, 1796104285802384, '{"payload_hash":"4b4cd538c93dc8011749f29fffb469d1d68b4f89433063b50edeec5d6890f5ad","value":{"covers":["task/b"],"status":"open"}}', '\x40680e78521941bee677e795bf103103', '\x73cc6cba20fe123d389f0247a44fa670b2affb73afc623697c1c30f1ca6e0300', '\xdfdd0e4a16ce3755d8515b03f38f62f3cb7b16b18cec5ea20ed7fcedef0531bc'),
	('Swarm-3', 4, 'entry.written', 1, 'agent:executor', NULL, '01a230286e6f-bd295d255e2031e14ed7', '\x5520d745c5c46a8961a5bb45fb615f62f85f922e98b27947dca6e620f0c37247', 'task/b', 1, 1796104285807287, '{"confidence":0.5,"payload_hash":"68827c36fabc7b9ca483c5c8d83446057a20285eb71f69a7e147f9b73be0117f","value":{"by":"Zoë ☃","status":"running"}}', '\x5d8218e310040db9795f37f75cdcf304', '\x5946006a6ac563b4a66c4daef49612067de21b99733ae918fe8c3815238bbbe3', '\x8d4d1ba2643990dcd6e9724cafb1a3d6c0daeab8f086266e52d1de1edb4a15a2'),
	('Swarm-3', 5, 'turn.ended', 1, 'agent:planner', 1, '01a230286e76-63451f7c6819c69342c1', '\xe04189a29146d403c1286e3dd52d34afa42db7cb1155c53018eefd923af5b929', NULL, NULL, 1796104285815180, '{}', '\xe55cbca4f8df729d3f56250266f268af', '\x2b6b4897792fce5a693bfca3d888db9d24081088a6c51e43b7f8f3732d14eb1f', '\x6a388348dd81630aeb5faa1e4a72a0c773ab5147a2ff5970627a6551c8f76847'),
	('Swarm-3', 6, 'agent.compacted', 2, 'agent:executor', NULL, '01a230286e7d-754390bde130ddb7ca66', '\xea9b5e0bce2e4eb8377515e4c1b64d21cd617c319ba898d4259512efd9147a5a', NULL, NULL, 1796104285822640, '{"agents":["executor"],"base_seq":5,"cause":"summary","kept":[],"tokens":{"after":20000,"before":180000,"window":200000}}', '\xebccb6d5a2316a74abe209c3a5f2485b', '\x5732ceabf5867ca9628942db5bc160e6d4a2471dd9b933e145068671f228091c', '\x750e1e19baa53c4829c50851e2d4e95659eca1b60b54a0317362fe7852d63662'),
	('Swarm-3', 7, 'write.rejected', 1, 'agent:executor', NULL, '01a230286e85-07ae39ce3329da1f4f55', '\x96b16fffaf5da3f9d86157d45d2fe100430e7385304ae49d92dee5d2717708ef', NULL, NULL, 1796104285829212, '{"code":"revalidation-required","remedy":{"call":"read_all(), or POST reads {\"all\": true}","detail":"your context was compacted: read these keys again to write them, or everything to be active","keys":["task/b"]},"rules":[{"code":"revalidation-required","detail":"you were compacted (summary), declared by itself in event 6, and have not read ''task/b'' since: read it, then decide again","evidence":{"owed":2,"since":6,"standing":"compacted"},"key":"task/b"},{"code":"unseen-revision","detail":"you do not hold revision 1 of ''task/b'' (entry:4, by executor): you last saw revision 1, and the compaction in event 6 took it out","evidence":{"current":1,"held":1,"held_since":4,"removed_by":6,"seq":4,"writer":"executor"},"key":"task/b"},{"code":"completion-unverified","detail":"''task/b'' is ''running'' at revision 1 (entry:4, by executor) and you write ''done'': read it first; a read counts for 8 commands","evidence":{"current":1,"seq":4,"since":6,"status":"running","writer":"executor"},"key":"task/b"}],"writes":[{"confidence":0.9,"key":"task/b","payload_hash":"711ab31f2a54b2a3132e60a2a3fa95e46b705afbaada372264f67db6b4da9fd3","revision":2,"status":"done"}]}', '\x74558aa1ee83cfbf9b951e6acd5d2027', '\x9ee11779a3c9f8fbf3368d510a91b5587715a8709281a959a4aad252572a2a07', '\x52408e7a10902ce2b73da33ffc611ab58d3f9938a518780f6593569c7bbcfb11'),
	('Swarm-3', 8, 'signal.raised', 1, 'agent:executor', NULL, '01a230286e85-07ae39ce3329da1f4f55', NULL, NULL, NULL, 1796104285829212, '{"agent":"executor","effect":"flag","evidence":[4,6],"key":"task/b","numbers":{"before":0.5,"confidence":0.9},"signal":"confidence-inflation"}', '\x6850548abe74c06d0535217408670fe7', '\x827cb5372d3583ad51b3ff28d2e71ed7d8459a60e34bf503b9175d85bd2c045a', '\x819f5903190aeff0b1ab6d3eb2f1b620aeb651b69a0a130b2e9bd5e74c6e42b3'),
	('Swarm-3', 9, 'board.read', 1, 'agent:executor', NULL, '~01a230286e899eadaf3a44aa00000001', '\xe2ed4cf637d3f87ea5dd4796ca0197afcba02a3befed14626f61a7f8b0e2a0cd', NULL, NULL, 1796104285833636, '{"head":8,"page":1,"range":{"prefix":"task/"},"served":2}', '\xdcd0c040377da34b5b9e1d3d91e97b6e', '\x32d627d1ea9d9525fee4266123f06607ff39a41406c5e0e3e37bf5d253769eb0', '\xd48047aa86c996e526769c970d06e5bcc496d310ccb216e61e7e825021397a53'),
	('Swarm-3', 10, 'entry.written', 1, 'agent:executor', NULL, '01a230286e8d-3b92ae7de7a368982ad5', '\x42043a5991e0fe9e8d0583913a092e956d1669628a41fd6333ffac45bdd19336', 'task/b', 2, 1796104285837493, '{"payload_hash":"31aa755508c02e5043e4fb798a0c0c64d560dd097ef60aad04baae33c91a03a5","value":{"status":"done"}}', '\xd7104d37fec0029eef580504deb1ff16', '\x186920ded8d030c0b5a9bd64766368dd93e73148cc0c1e5eae8c011fb0095a70', '\xf0dfe57668c351abc7480d0975b6857fe3b8d3b5d9e9c2f441f57977b4693f95'),
	('Swarm-3', 11, 'entry.written', 1, 'agent:executor', NULL, '01a230286e91-a045d9ec8613893f84c2', '\xf0c56f475e17e2b0fee714d113261bda5f44008045d346636d3186cd7d1f953e', 'task/b', 3, 1796104285841205, '{"deleted":true,"payload_hash":"8931fd143f580b10c199a612d691b170c804625e584bbf858fc8bbbb5fdfcb45","value":null}', '\x198d1cc70d5c463c3328691ae9beace7', '\x036273fb67ebf8c179313afe1fcf2d58977e97efa788e1930c03ff24e43d7e9a', '\x928eead617399f105f9b5b7469d5ccdefba032f2b98be5dd48aae5a9cb096992'),
	('Swarm-3', 12, 'board.mode-changed', 1, 'operator:ops', NULL, '01a230286e92-6645f8be0a922bcf05fa', '\x46a2fcdf1d6a583df9b462bea2675624269e207b8277a947296e09fa10489349', NULL, NULL, 1796104285842861, '{"coordinator":"planner","mode":"single-writer","why":"the harness cannot notify"}', '\x237cedf7dfe2fdec009e3b47da249b6c', '\xef6ce7d70fe1540bd46b6de29cd88926b7e4022da67a23adb4fba90f574df95d', '\x1b4d43715d1cacccc810872bc668411a912c315f371a52cb1311823c53db6028'),
	('Swarm-3', 13, 'write.proposed', 1, 'agent:executor', NULL, '01a230286e9a-7dfe47a0627107d13efb', '\x07f49034d93cf7318576e2ffdb6a3fc8d8e5c4006047ff786b9d817abc0c24a6', NULL, NULL, 1796104285851090, '{"reason":"next","writes":[{"held":0,"key":"task/d","revision":1,"value":[1,2.5,null]}]}', '\x412f0e73d087d93a9aef6c10112bfd1b', '\xb6577f004c15c012e99db66ff3b18e61e3b1bdf868e7b6e5087b5c47bfca65f7', '\x1c5c279f6b1c5bebb310d89a9320ea00d152488e31b01994fa32afb796283a7b'),
	('Swarm-3', 14, 'write.proposed', 1, 'agent:executor', NULL, '01a230286e9e-572cac639c9000ac04ed', '\x5f5b52ad9fa897318f37715c32e9086e1467b4fce196c9914a31fc62a085d6a7', NULL, NULL, 1796104285854499, '{"writes":[{"held":0,"key":"task/e","revision":1,"value":true}]}', '\x0a8721e1e7486ec70c5e1de6c19af43e', '\xa7a0b2f64f4a1114dceda336a357e206609281bf78e63baded811d0a1bf8b7a1', '\xa3f2adcf6356f4ccc1f3662833d16453cab3184f76305edabd10c7f12f1dab00'),
	('Swarm-3', 15, 'board.read', 1, 'agent:planner', NULL, '~01a230286ea19eadaf3a44aa00000002', '\x3a709fa18109bcbb5ff54c9045157dc91520ad80ed2ca496e96f5849e67a301d', NULL, NULL, 1796104285857284, '{"proposals":["proposal:13","proposal:14"]}', '\x928233ab1f375e8bac0d777eb6182899', '\x736bfd3a5f7ad37fc09cdfc6a7fedc30cc71f6eea20698c5820656385a4385ee', '\x90dcd9f3f8443939a4d2209e400a18554e0a13b455a9886a1483108dffb088ae'),
	('Swarm-3', 16, 'proposal.accepted', 1, 'agent:planner', NULL, '01a230286ea9-fec3f481d68f0d51d028', '\xa36d275c9a117310dab73f7b309ef3dd8a463d4c11940db834dd3eadd0a78f45', NULL, NULL, 1796104285865763, '{"proposal":"proposal:13"}', '\x69ba561f84e53dc708db093326004d77', '\xcf65048accaa4e70e5669d0eb1a51c3a978e6cc84e52ee6b7485cb3fafe576d2', '\x761a7d6793bb5763e299178d290a24218d402affccde2a8f469bc9b38dcbd6d7'),
	('Swarm-3', 17, 'entry.written', 1, 'agent:planner', NULL, '01a230286ea9-fec3f481d68f0d51d028', NULL, 'task/d', 1, 1796104285865763, '{"payload_hash":"9e7b880da4f8cff427dbce5228befb4e5c97a143d5a3c1a187ca6c23da10b8e7","value":[1,2.5,null]}', '\xa6bf31440fe1eb8dc2242495fa384651', '\xb4913c0ca948c251be55e028fa977ce7d00c2e4a01f4a66fefd0121e3eacb713', '\x1485d9cbad90b5432502e3bc71eb19f98fe7ef56297a3824560462d2e3ddbed5'),
	('Swarm-3', 18, 'proposal.refused', 1, 'agent:planner', NULL, '01a230286ead-38a800427bbcfc7aa720', '\x61a7210b6ac84a3f0aaf3468b50ca6f77c3981fd3f9d3b28ac9ec0faa1d9a27c', NULL, NULL, 1796104285869599, '{"proposal":"proposal:14","reason":"not now"}', '\x825bea47b13cc8326318d9a217e12b28', '\x2e78fb31afa441a0029a43874a919b13775f6661fc3c81bd4fe53788352889b7', '\xaf4d152589fb67bd8958e9bd77329ba5c8aaad48e7d13b6c65e34ed901bd4ed2'),
	('Swarm-3', 19, 'board.policy-changed', 1, 'operator:ops', NULL, '01a230286eae-a8c72bd3e57b133583a3', '\xbd1b577b04a29cb9aae566697d6bb05e81619f75c43dc7a2d2567fed80c60c7b', NULL, NULL, 1796104285871364, '{"policy":{"broadcast":true,"completion":"reread","completion_window":9,"coordinator":null,"covers_pointer":"/covers","demotion":"revalidate","finished":["done"],"on_unnotifiable":"single-writer","require_view":true,"revisions":"advancing","signals":{"citation-decay":{"effect":"suspect","minimum":4,"ratio":0.5,"window":8},"completion-over-open":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"confidence-inflation":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"invented-record":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"read-elision":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"revision-break":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"write-breadth":{"effect":"off","minimum":3,"ratio":0.5,"window":8}},"status_pointer":"/status","unfinished":["open","running"],"unseen":"block"}}', '\x8cf4e2e95a5b70987085dfbb2fc781b9', '\x300d4c7c66fd25f94d7c4738932cde9d25930b464e9afab7ae29dc122990c34f', '\xa5057c5c150aefbe9622a64fa5eeeea0c5f2c8fe17cdf199fbafab878e72069a'),
	('refunds-3', 1, 'board.opened', 1, 'operator:ops', NULL, '01a230286eb6-41ed16eafbe5010af197', '\x02f988901b1d5b2e64b74c803053c67216bf0c3cbaebacf495186f31d3036676', NULL, NULL, 1796104285878987, '{"format":2,"name":"refunds-3","policy":{"broadcast":true,"completion":"reread","completion_window":8,"coordinator":null,"covers_pointer":"/covers","demotion":"revalidate","finished":["done"],"on_unnotifiable":"single-writer","require_view":true,"revisions":"advancing","signals":{"citation-decay":{"effect":"suspect","minimum":4,"ratio":0.5,"window":8},"completion-over-open":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"confidence-inflation":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"invented-record":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"read-elision":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"revision-break":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"write-breadth":{"effect":"off","minimum":3,"ratio":0.5,"window":8}},"status_pointer":"/status","unfinished":["open","running"],"unseen":"block"}}', '\x0ef9996658bee6643ba26c898baada8b', '\x2e92665dc1cc6287dbab9483e990eafa3987fddf44d66b7e68364c309cef6a6e', '\x2ecf0fedfbce30dd003cdb13852be9921b9b0e2a8b1b7811a80a717ed65a3e0e'),
	('refunds-3', 2, 'entry.written', 1, 'agent:writer', NULL, '01a230286eb8-7738b2c7ca999f79defe', '\xdc7436c24a90a14bc3192a7ec30d59799c94862adb00b56bae1df4a0affa326d', 'a', 1, 1796104285880686, '{"payload_hash":"7270fcc33078949fd0df71f342878efb86e69eeedf762fc5e35c205194dbf97c","value":"before"}', '\x4df4d1362b4683e1ba04adadb64e537c', '\xd02e85fb3b63fa2ead861a95bb92df5f53582797d4548bcecfc24490290bfd80', '\xb7fd5cec4597e2b4953f7d8047da998787038616bfa56a1128176c8335b75b41'),
	('refunds-3', 3, 'agent.compacted', 1, 'agent:payer', NULL, '01a230286ebd-52aa7465288ed8212442', '\x0f8c2cbba4223afe1a6df6edd7cba44e444cfe112e77195e61bfe02727036302', NULL, NULL, 1796104285885253, '{"agents":["payer"],"base_seq":2,"cause":"summary","kept":[],"notify":"in-band","tokens_after":20000,"tokens_before":180000}', '\x9ca53f83bd869ffed77715a29766364d', '\xee5220755ce016d04523fe7c38ac93e8c89d0892708f8ac6c32579ffa7093f05', '\x3b8c5b52678ff16b5ddc78ca90b0992b37ce7a39eda96d04243bd36d8087c704'),
	('refunds-3', 4, 'message.posted', 1, 'agent:writer', NULL, '01a230286ebf-6ea6b8c0a19ab78ac19c', '\x78d77a9d68935643406dc7bd57f0060cb4bd51b59de504fe9d3ee9bc24f8b9b8', NULL, NULL, 1796104285888336, NULL, NULL, '\x35bfc6c9621be513bb8f8002b37737cf654866297ae32ed40050ccc7d75b8485', '\x356cff124b73a6a09db0e58dfdc1b65dc963d5aeffd294c77fb0a5bfefb4ab7d'),
	('refunds-3', 5, 'board.format-raised', 1, 'operator:ops', NULL, '01a230286ec4-a10a556151376d607f38', '\x3b011dc9465dbde2f380a182b7776b0def34c142e31b6080695c6b5192710739', NULL, NULL, 1796104285893275, '{"format":3}', '\xbab30f0d961466f1efcf792c03c5b2fb', '\xedbd2813ff203845dc1473c23229a2a9e213c77eee2403a961ac7b4deae45801', '\x38f1ab69f2fe14db9f337452826c6152e8d25470c073b5779d76404de0279734'),
	('refunds-3', 6, 'message.posted', 2, 'agent:payer', NULL, '01a230286ec8-4329277a7919337c6303', '\x2c76c8d9ce61c73a9d4f5eb2545e989ecc2da86c860aee96b786a75fa6b76558', NULL, NULL, 1796104285896519, '{"reply_to":4,"text":"seen"}', '\x19aa65ee377a3f59270baa0492a00967', '\x1c4078a8ff41a5e1fa7fc8ba9133b4b13f6b99de87d3e1cc98c0b2246cd617bb', '\xef52c512db2bf8d2df1f36c19ca2f403a39ba26ed3a25f1a28ebb477a6cbc928'),
	('refunds-3', 7, 'record.added', 1, 'operator:ops', NULL, '01a230286ecd-a7067cc94e4f522e2336', '\x7e814244aebd25b157e666aa5326ca437a36704a8c127976ab4c918fb6048dbc', NULL, NULL, 1796104285902214, '{"record":{"effect":"deny","id":"cap","kind":"policy","predicate":{"field":"amount","op":"gt","value":5000},"scope":"refunds.create"}}', '\xcee1dcc684b7f5473319afd6fa9da54d', '\xeb5c69a1587cfb769af71199e06793b3555e44ac10a95f2ef91b542983e753e3', '\x44b4a52d2ac82866142a47056b3bdc0c5c9401884a2633725a258a624c781285'),
	('refunds-3', 8, 'record.added', 1, 'operator:ops', NULL, '01a230286ed7-83857cb39cfd1afc6c99', '\x6a1e05a4c79331651673c911e089fc6ecb7e2e1866a15225ea5beda855a13ac3', NULL, NULL, 1796104285912034, '{"record":{"field":"tier","id":"tier","kind":"fact","value":{"name":"gold","since":2.5}}}', '\xb6ce099d6c0721538590082a78d20ad8', '\x205409b92ffccf848ef2cb6d1fe280ae174c789e59a43366c4eae62dd18a908d', '\xfb8707599a8df9d76c9cd089ee4ec2639ea0baef19a8924a6b84a9e5b59d717f'),
	('refunds-3', 9, 'record.added', 1, 'operator:ops', NULL, '01a230286edd-7e92d2fa7abef6e35cd1', '\xf7c22dd79e6943c51609d1b0b442c8b66a66f0cd1612c491b2591736ab2c176b', NULL, NULL, 1796104285917806, '{"record":{"id":"record:9","kind":"chatter","text":"good morning"}}', '\x3f07d4cd932898d54c3d1eaa9fc1546a', '\xfe69cb96137e7c73eee71684145239ba1e4eb22a449c93c5242e4d7001fd958a', '\x3221024eeb94d72756b1157c0f8d94a9db5e84b5dbee1d040c753abd0b5aedad'),
	('refunds-3', 10, 'board.read', 1, 'agent:payer', NULL, '~01a230286edf1cce0517051900000001', '\x70ce4a2224d04a995f90fe72f1ac12b2d7cc0b00b71690d3c420d871d7afeb0d', NULL, NULL, 1796104285919319, '{"head":9,"page":1,"records":["cap","tier","record:9"]}', '\x436db7925d0b45b003a8cfc4318b98ba', '\xedd926ea5a18e8ea8a7ffacb5236aa13195c131779051bad1595e22ff5ff1251', '\xa89a5d67410018b056b8366dd588bcccf44300a96e271b8b9c4281fd3ef748cd'),
	('refunds-3', 11, 'record.added', 1, 'operator:ops', NULL, '01a230286ee0-866a8f28f91791763ff1', '\x58f2b5aa4d1d7df773a782b9e55cb608da285599211762b6e9a18d4f300d0e2d', NULL, NULL, 1796104285920211, '{"record":{"action_digest":"2ec33855f28836c32661bf3e9fe501303b472a6784d9709390731e74f2d154ff","approver":"operator:ops","granted":true,"id":"record:11","kind":"approval","policy":"cap","text":"the customer was here first","version":2}}', '\xb944f3fd6a8470b3040bc09f9c041a69', '\xc6b9667d9190fb5932149f6d7d3d18cb21954965cddfce7bc39af544b6f666df', '\xab253e4f4c4b2d6fabb0a9edd8fe9c0b9e5c18d37e38eb1980dd60e10db59bd2'),
	('refunds-3', 12, 'action.checked', 1, 'agent:payer', NULL, '~01a230286ee41cce0517051900000002', '\xf5145c8d898afdd70d81b9d9d6215c4fe3752295f02b9bdf77a1a86d4e5eb32d', NULL, NULL, 1796104285924556, '{"digest":"a2b907dc0804c2e1f968968bd05daa004e313f8def1f4e0876068de6a93b7a69","head":11,"notes":[{"code":"binds, and the agent holds it","detail":"held policy ''cap'' (deny): amount gt 5000 is TRUE; amount = 7200 (param)","id":"cap"},{"code":"dropped as chatter","detail":"0"}],"params":{"amount":7200,"order":"7741"},"policy":{"answer":"deny","rules":["cap"]},"records":["cap"],"tool":"refunds.create","verdict":"PASS"}', '\x20e6631e1a71e11f08030e0c7a635099', '\xbb2f1bcd4bb36116e77b8080720f74dc4ec49068435543ab3fd9cf8c6435308a', '\x337ddfe10d80eca8eb78c9057db3e97d4bed9eef20d834af7c27ba54ff7a68ea'),
	('refunds-3', 13, 'certificate.issued', 1, 'agent:payer', NULL, '01a230286ee7-0028fd75d7e11ef73315', '\xde8214bb97ace5382d23ec213b3c30952204a752ec8531aba077dcffd02596de', NULL, NULL, 1796104285946178, '{"agent":"payer","as_of":12,"clock":11,"digest":"a9134de68e891f6a0c869d3189b7508ba4c9cb4f0b421ecbbfc8276b0ec6174d","full":"d07412954a33127054d04ca816f303ff4ebcbce90b63ade49a0f1f1d33bf5b16","held":"7d9cb40682000d52793a0862867e7de1b963ddf637c7d807647de81d42a893ff","language":1,"tool":"refunds.create","view":10}', '\xd2a08d106db8d2826989c06269fff041', '\x4dec506b8f35beadd7d8ee4bacf75e44c0747dee428aa8fd55229a3a2fcb6cf2', '\xbd8761db26bab92c4debdae72dfb3c222e52f7ee2deb03bcaf7af277ee1729cd'),
	('refunds-3', 14, 'agent.compacted', 2, 'agent:payer', NULL, '01a230286efe-bedf0f87287a4f80dd68', '\x4e3f4a3e6ce24956248de413ce7cfa074018d3cd937c7996885ce7d2e88368e4', NULL, NULL, 1796104285950708, '{"agents":["payer"],"base_seq":13,"cause":"summary","kept":["tier"],"tokens":{"after":20000,"before":180000,"window":200000}}', '\x9c3729aef9624b847ff90b5b4e5d11f8', '\x5fec72359fda44673576c1363fbf02cd5bc93eff437e1736e0e1ad748d2ec5e9', '\xdbf1eff0e413a14da4651b87b3ab259875506966e8aab7e7b35e346b12ecb24d'),
	('refunds-3', 15, 'entry.written', 1, 'agent:writer', NULL, '01a230286f01-990f3f806a7cac3b5e10', '\x29ea0d4ca75975667e0e073027fc56adcac0a8ec5039778368100d60e73b3d62', 'a', 2, 1796104285953597, '{"payload_hash":"449e4ebf392528efe1e5c5cf5436984e01540cff25b45a861fc88f23f22fd3da","value":"after"}', '\xd567ed0cd098c99dda8167c8af50e394', '\x62f654d97b24b635453c41717fb638c7f3b948f7f3c9b1a827a8843836f0aa53', '\x527bf74cf9b9b9097a2af439345a742a04ec335750c7415c570c43bbc1d46bba');
INSERT INTO public.formats VALUES
	(1, '0.1.0'),
	(2, '0.2.0'),
	(3, '0.3.0');
INSERT INTO public.revisions VALUES
	('0001', '0.1.0', '0001'),
	('0002', '0.2.0', '0001'),
	('0003', '0.3.0', '0002');
INSERT INTO public.saved_boards VALUES
	('refunds-3', 'projections/4-little', 3, '\xd705d9875aecc82bfaeaa316a4e8ef2045f53ce7004d84aa45af86f4de013316', 1, 1465);
INSERT INTO public.saved_parts VALUES
	('refunds-3', 'projections/4-little', 3, 0, '\x00000353dc0012a9726566756e64732d3303cf0006618c1df07acb028ea97265766973696f6e73a9616476616e63696e67ac726571756972655f76696577c3a864656d6f74696f6eaa726576616c6964617465aa636f6d706c6574696f6ea6726572656164b1636f6d706c6574696f6e5f77696e646f7708ae7374617475735f706f696e746572a72f737461747573ae636f766572735f706f696e746572a72f636f76657273a866696e697368656491a4646f6e65aa756e66696e697368656492a46f70656ea772756e6e696e67a77369676e616c7387ae6369746174696f6e2d646563617984a6656666656374a773757370656374a677696e646f7708a76d696e696d756d04a5726174696fcb3fe0000000000000b4636f6d706c6574696f6e2d6f7665722d6f70656e84a6656666656374a4666c6167a677696e646f7708a76d696e696d756d03a5726174696fcb3fe0000000000000b4636f6e666964656e63652d696e666c6174696f6e84a6656666656374a4666c6167a677696e646f7708a76d696e696d756d03a5726174696fcb3fe0000000000000af696e76656e7465642d7265636f726484a6656666656374a4666c6167a677696e646f7708a76d696e696d756d03a5726174696fcb3fe0000000000000ac726561642d656c6973696f6e84a6656666656374a4666c6167a677696e646f7708a76d696e696d756d03a5726174696fcb3fe0000000000000ae7265766973696f6e2d627265616b84a6656666656374a4666c6167a677696e646f7708a76d696e696d756d03a5726174696fcb3fe0000000000000ad77726974652d6272656164746884a6656666656374a36f6666a677696e646f7708a76d696e696d756d03a5726174696fcb3fe0000000000000a962726f616463617374c3ab636f6f7264696e61746f72c0af6f6e5f756e6e6f7469666961626c65ad73696e676c652d777269746572a6756e7365656ea5626c6f636ba46f70656ec09192ab6167656e743a70617965729303a9636f6d706163746564d932636f6d706163746564202873756d6d617279292c206465636c6172656420627920697473656c6620696e206576656e742033919402a16101a67772697465729090c40104c420000000000000000000000000000000000000000000000000000000000000000090000002000000000994c400c400c400c400000000f0dc001ba6777269746572c287ac636f6d7061637465645f617400ac7375737065637465645f617400a66c617465737400a3776879a0a6707265666978a0a46f77656400a6736572766564c28aa47475726ec0a5656e646564c2a46b65797390a373657100a56c6f6f736590a96c6f6f73655f73657102a573697a65739101a4736571739102a372756e00aa6e6172726f775f7365710086a8636f6d6d616e647301a5726561647300a77265726561647300a677726974657301ab636f6d70616374696f6e7300a86d6573736167657300910290909192a1610290909090900090909192a161029090c4000090020090900000011bdc001ba57061796572c287ac636f6d7061637465645f617403ac7375737065637465645f617400a66c617465737403a3776879d932636f6d706163746564202873756d6d617279292c206465636c6172656420627920697473656c6620696e206576656e742033a6707265666978a0a46f77656401a6736572766564c28aa47475726ec0a5656e646564c2a46b65797390a373657100a56c6f6f736590a96c6f6f73655f73657100a573697a657390a47365717390a372756e00aa6e6172726f775f7365710086a8636f6d6d616e647301a5726561647300a77265726561647300a677726974657300ab636f6d70616374696f6e7301a86d657373616765730091039090909090909090029192030290909090c4000290030390900000003e919ba161c408226265666f72652201a677726974657202c4207270fcc33078949fd0df71f342878efb86e69eeedf762fc5e35c205194dbf97c0201c2c0c0');
INSERT INTO public.snapshots VALUES
	('refunds-3', 'of the release before', 3, 0, '\xd705d9875aecc82bfaeaa316a4e8ef2045f53ce7004d84aa45af86f4de013316', '\x00000353dc0012a9726566756e64732d3303cf0006618c1df07acb028ea97265766973696f6e73a9616476616e63696e67ac726571756972655f76696577c3a8');
INSERT INTO public.tokens VALUES
	('token-operator', '\xd6c1e59081a6e80addb9db30ee276167846ebd3fa1b2a270fdb4ce7da5f2dde1', 'operator', 'operator-1', '["*"]', '{}', 1, NULL, NULL),
	('token-agent', '\xb2016e4be19518db271485173a210658c7a6290101a0fb4e7f70c2dbed3eb0f3', 'agent', 'agent-1', '["*"]', '{}', 1, NULL, NULL),
	('token-auditor', '\x43b7707872a0bf577074acfaaa8ed4f58560c73d6c33c9fa5238799d18625725', 'auditor', 'auditor-1', '["*"]', '{}', 1, NULL, 5);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.boards
    ADD CONSTRAINT pk_boards PRIMARY KEY (id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT pk_events PRIMARY KEY (board, seq);
ALTER TABLE ONLY public.formats
    ADD CONSTRAINT pk_formats PRIMARY KEY (format);
ALTER TABLE ONLY public.revisions
    ADD CONSTRAINT pk_revisions PRIMARY KEY (revision);
ALTER TABLE ONLY public.saved_boards
    ADD CONSTRAINT pk_saved_boards PRIMARY KEY (board, fingerprint, seq);
ALTER TABLE ONLY public.saved_parts
    ADD CONSTRAINT pk_saved_parts PRIMARY KEY (board, fingerprint, seq, part);
ALTER TABLE ONLY public.snapshots
    ADD CONSTRAINT pk_snapshots PRIMARY KEY (board, fingerprint, seq, part);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT pk_tokens PRIMARY KEY (id);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT uq_tokens_digest UNIQUE (digest);
CREATE UNIQUE INDEX uq_events_board_actor_command_id ON public.events USING btree (board, actor, command_id) WHERE (request_digest IS NOT NULL);
CREATE UNIQUE INDEX uq_events_board_key_revision ON public.events USING btree (board, key, revision) WHERE (kind = 'entry.written'::text);
