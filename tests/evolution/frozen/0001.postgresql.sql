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
	('0001');
INSERT INTO public.boards VALUES
	('Swarm-1', 1796104268788507),
	('refunds-1', 1796104268863995);
INSERT INTO public.events VALUES
	('Swarm-1', 1, 'board.opened', 1, 'operator:ops', NULL, '01a230282bf1-cb0ceb71818486ba3101', '\x4b7ccaa001d6690d948564a55549875ff432861d13ea565f83c1fcf7b1929bc5', NULL, NULL, 1796104268788507, '{"format":1,"name":"Swarm-1","policy":{"broadcast":true,"completion":"reread","completion_window":8,"coordinator":null,"covers_pointer":"/covers","demotion":"revalidate","finished":["done"],"on_unnotifiable":"single-writer","require_view":true,"revisions":"advancing","signals":{"citation-decay":{"effect":"suspect","minimum":4,"ratio":0.5,"window":8},"completion-over-open":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"confidence-inflation":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"invented-record":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"read-elision":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"revision-break":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"write-breadth":{"effect":"off","minimum":3,"ratio":0.5,"window":8}},"status_pointer":"/status","unfinished":["open","running"],"unseen":"block"}}', '\xbc38fc5c8bc05aa1a69d25d338adc594', '\xc2723c5aade846a3545a1861724785d84eed7660c7c74231357f8dd70953d122', '\x1b11f50dd06700746bb10357fe9593976cffeb101fc7eb25822371fb0e1e851e'),
	('Swarm-1', 2, 'agent.joined', 1, 'operator:ops', NULL, '01a230282bfb-f407e9fa51a87b1fe569', '\x297d4dfcf379a216d3d99028c9d656964b7cdc1e070f7dac98b9e3676e680c9b', NULL, NULL, 1796104268796283, '{"agent":"executor","prefix":"task/"}', '\x2cb898545a347d59a3247147d674fd69', '\x134907ae57154101bba17284bb8951c7516d85af9a8b23cc1c34957007b1d745', '\x03a44b13e7d1c2a355d7ad1f3497be9b6de0f354df143f32c914c9d3e3e521ca'),
	('Swarm-1', 3, 'entry.written', 1, 'agent:planner', 1, '01a230282c06-d873a8db5344815f74d9', '\x4bf6144a1ee223eae830144727bba4ad6f210b66371f2349e8ea9f5de0bc01fb', 'task/a', 1, 1796104268807577, '{"payload_hash":"4b4cd538c93dc8011749f29fffb469d1d68b4f89433063b50edeec5d6890f5ad","value":{"covers":["task/b"],"status":"open"}}', '\x6feaf2729eac5995d1e11bac4541ad7d', '\xe8e97902e0380f6b7bbcc8e96858ce4c85ad9581298862246326899a6b094d84', '\x9d8cbf416000a3b12a6130c5286c5621ce1cdb1a7bb4efcd24bd56d90271b456'),
	('Swarm-1', 4, 'entry.written', 1, 'agent:executor', NULL, '01a230282c13-0325bdf81833c9b8b7bd', '\xf1a84c9d45b5ca504b93d58584f49bc13bed198977ce55128f11eb6a0ec1997a', 'task/b', 1, 1796104268820083, '{"confidence":0.5,"payload_hash":"68827c36fabc7b9ca483c5c8d83446057a20285eb71f69a7e147f9b73be0117f","value":{"by":"Zoë ☃","status":"running"}}', '\xc3d4b4ed019e7d46b450ed745717cf37', '\x6624250a9d36375ea6c1915320e214869caeccc44bcabc9ad97b9bcf761de933', '\x096187aa7a1d0a4515bcfda917f6363af5b45b922c5284c531fc83705fbda094'),
	('Swarm-1', 5, 'turn.ended', 1, 'agent:planner', 1, '01a230282c19-f1931e3358f1f5d722c3', '\x35208e363f928ffe1bfcc94965f4d752e7a10ef3f113384e909c752fcea48d9d', NULL, NULL, 1796104268825514, '{}', '\xf1784a8bc841274a1c109868aa9cf5d0', '\xa2c77f643da6aca769fc55219d6efa0ea8bdb81864952508b831a0049edb0f5c', '\x8bbbc73a761eaf44bec3e09393ba49325227dec4fe31fbdf50ca69e755b83642'),
	('Swarm-1', 6, 'agent.compacted', 1, 'agent:executor', NULL, '01a230282c1d-031bc6a3146f6987ce05', '\xd4c8fdecf9b332c7bc9d56ffd16ceea6fe1e0c9605ef7ae12afe516c3280b44a', NULL, NULL, 1796104268831370, '{"agents":["executor"],"base_seq":5,"cause":"summary","kept":[],"tokens_after":20000,"tokens_before":180000}', '\xe6b345696dacee913e603d92af2d6e5d', '\x0259ca010d9a1cda28104f6916b152d2ad47a5ec58c19f4fabe8e377514c64c6', '\x30319b4c0245ddf3b927d754691e73fc5d2ba36a2aee7b3ccf7ee3953893ff8c'),
	('Swarm-1', 7, 'write.rejected', 1, 'agent:executor', NULL, '01a230282c22-dd5f97c9d5c7197a6903', '\x9ca45cfe35529eb6078cefe9b089d7c13b7d4a0f0e44b7b0ad4722e2916b7c81', NULL, NULL, 1796104268834187, '{"code":"revalidation-required","remedy":{"call":"read_all(), or POST reads {\"all\": true}","detail":"your context was compacted: read these keys again to write them, or everything to be active","keys":["task/b"]},"rules":[{"code":"revalidation-required","detail":"you were compacted (summary), declared by itself in event 6, and have not read ''task/b'' since: read it, then decide again","evidence":{"owed":2,"since":6,"standing":"compacted"},"key":"task/b"},{"code":"unseen-revision","detail":"you do not hold revision 1 of ''task/b'' (entry:4, by executor): you last saw revision 1, and the compaction in event 6 took it out","evidence":{"current":1,"held":1,"held_since":4,"removed_by":6,"seq":4,"writer":"executor"},"key":"task/b"},{"code":"completion-unverified","detail":"''task/b'' is ''running'' at revision 1 (entry:4, by executor) and you write ''done'': read it first; a read counts for 8 commands","evidence":{"current":1,"seq":4,"since":6,"status":"running","writer":"executor"},"key":"task/b"}],"writes":[{"confidence":0.9,"key":"task/b","payload_hash":"711ab31f2a54b2a3132e60a2a3fa95e46b705afbaada372264f67db6b4da9fd3","revision":2,"status":"done"}]}', '\xb0969c68f8a122d9d3fecdc2fca01651', '\x21eb45df685974c30a5fc08ac306509f597b1a2e2353cd19919e8c546f156ecf', '\xe0fa4c27244cdd3a159a1a627467336f8f9401c426f2406373af623f3b747ab4'),
	('Swarm-1', 8, 'signal.raised', 1, 'agent:executor', NULL, '01a230282c22-dd5f97c9d5c7197a6903', NULL, NULL, NULL, 1796104268834187, '{"agent":"executor","effect":"flag","evidence":[4,6],"key":"task/b","numbers":{"before":0.5,"confidence":0.9},"signal":"confidence-inflation"}', '\xdca055723fbb1de2eaf644939e32805d', '\x236dd4e5fb095f338a9c63e95d4f892420b6ef64a31fa6b8c81bf8656026cad2', '\xe8354b0c17a69b8b17bc575f38d94ff5d64f613ac54af3520e8425b7b9b255b9'),
	('Swarm-1', 9, 'board.read', 1, 'agent:executor', NULL, '~01a230282c25c6a12a0d647900000001', '\x9e7038e3090e6c3454cc84e18fa74392ea292dd49cffdd352215085b368388a5', NULL, NULL, 1796104268837930, '{"head":8,"page":1,"range":{"prefix":"task/"},"served":2}', '\x08ea58d7312c60129bc78487c33e1cc6', '\x5662271f2e5da98cfe965752598d23e64ff8bf7ff01a2c427c864315291a8c4e', '\xead43197cf4c4d93717f4c54322afa4e254370212c2722e84ba8b32e3002b893'),
	('Swarm-1', 10, 'entry.written', 1, 'agent:executor', NULL, '01a230282c27-e385e32ce962a7484ab7', '\xf5e19fd30bc44d9636d8bf7fd834099c14c8211dbd96d54f6aa1a0e399e30901', 'task/b', 2, 1796104268839841, '{"payload_hash":"31aa755508c02e5043e4fb798a0c0c64d560dd097ef60aad04baae33c91a03a5","value":{"status":"done"}}', '\xfde165d01a6d4aab60d7c07fee555dcc', '\x0aacaa9bf1741adf67c777768d31128496d4edf2ee0559390b7cde6ad9dd8626', '\x16453a1f3d297365396a07b8b3c7a9450edd332775102893b0880bc7ae833738'),
	('Swarm-1', 11, 'entry.written', 1, 'agent:executor', NULL, '01a230282c2a-55a64718441e201fce14', '\xf55e7ae883aef98aac14cb82585007c8720e23847ac25e2f6c7122e5f8b0d9c9', 'task/b', 3, 1796104268842133, '{"deleted":true,"payload_hash":"8931fd143f580b10c199a612d691b170c804625e584bbf858fc8bbbb5fdfcb45","value":null}', '\x2ca2e3f44d7bc63a693e07ca5a60834b', '\x670a9268983d28ba6efca67e83b8b57376de4f114e669bb9bc40c7833764dc60', '\x69a25f2727aa4c4671544c2e0d8e46f14324eb8893fdb106e3e1b0a89aae95ef'),
	('Swarm-1', 12, 'board.mode-changed', 1, 'operator:ops', NULL, '01a230282c2c-a9a5c7def0249ae7c463', '\x6b13e9ccc71c9c80c6e1f3497003ca73ab136022d2e0fa2490eb309e2a6bf23b', NULL, NULL, 1796104268844950, '{"coordinator":"planner","mode":"single-writer","why":"the harness cannot notify"}', '\xd840af34a9b519c888a457bf0bd0d30f', '\x7f1e82b0dd53b0ac8473686d9f544c6164b18c1a515644b3c3bf1a5593bbaca2', '\xa4f9f52cf472e00d50ec39351b00d59fb79ce6a4dfe67f46eb04e5843c9cfe98'),
	('Swarm-1', 13, 'write.proposed', 1, 'agent:executor', NULL, '01a230282c2d-648f22ba252eb09d2a8e', '\xc4945bb2ce4ba594ed3b982328fb939b3049c07e431e95c9302bcf96e796d8bc', NULL, NULL, 1796104268846329, '{"reason":"next","writes":[{"held":0,"key":"task/d","revision":1,"value":[1,2.5,null]}]}', '\x0dd95aaa85aa9705f1f2bc849195712b', '\x7ae9ec809cb7cb38fba16bcd78d28b868073dec7b7fe7611f7049108e7950983', '\x49263859b8058c96f6940854c0258c0c962cc77f106dda53f42b1b4544696650'),
	('Swarm-1', 14, 'write.proposed', 1, 'agent:executor', NULL, '01a230282c2f-082c78d9f0adef08ed3b', '\x4766e5eafa1e7c5ae42c828037d8ee32d5419b489853c250247f489b15624423', NULL, NULL, 1796104268847980, '{"writes":[{"held":0,"key":"task/e","revision":1,"value":true}]}', '\x38dc8610d6746733251881de3f5beb04', '\x03613b6f6a9bb888c5b48da940d64587cd16c1992b662533f0b83a49e074a12d', '\x1e3a8233267ec607ebbb279b0d717cb7c810ec774d218fefdf327405fae5154e'),
	('Swarm-1', 15, 'board.read', 1, 'agent:planner', NULL, '~01a230282c31c6a12a0d647900000002', '\xe08905bb27812bceba14c3747e87c28f5dd6749ef8728a9bf1463d1bde409a8a', NULL, NULL, 1796104268849616, '{"proposals":["proposal:13","proposal:14"]}', '\xd068141f226782090ac285540a6e9881', '\x813308e1a69b41d4ba54e99368140224d50b717799b4bcf72dad4426d35ca0a7', '\x4c25612970f02d697086e35bde138b1f269807ff61db70687fe2624c362e5b54'),
	('Swarm-1', 16, 'proposal.accepted', 1, 'agent:planner', NULL, '01a230282c32-59e738dc3e64f8c3cdbd', '\x9ee9c4e86835af3dd78f06e010bd253f33df72eb82485cef6f78bbb937487d66', NULL, NULL, 1796104268850573, '{"proposal":"proposal:13"}', '\x1786247726c532da3bf271dde9c6d45d', '\x7e37e1a66a2386939f4d1449d7c5ff528c4db9c6c2da7528630eb1b5cc50c1b8', '\x86ac8823e30b10bf409d07c7511dfb3e41cc470c3fb3d5b43c60e2fc7e353419'),
	('Swarm-1', 17, 'entry.written', 1, 'agent:planner', NULL, '01a230282c32-59e738dc3e64f8c3cdbd', NULL, 'task/d', 1, 1796104268850573, '{"payload_hash":"9e7b880da4f8cff427dbce5228befb4e5c97a143d5a3c1a187ca6c23da10b8e7","value":[1,2.5,null]}', '\x545c6bf565d4e7c24dae50c81f647977', '\x5b1b6678eccfc3fe062d45c225afd7aed7eed67ccb1b32f6e0ca6f3dc8b6de66', '\xf28d9b062d0a24c28b3ca82563fb3c37affe5277455453d30db4ef2ad4f7b40a'),
	('Swarm-1', 18, 'proposal.refused', 1, 'agent:planner', NULL, '01a230282c33-8d0f2170fe1222d0b072', '\x4258ff748ca7313e3c1d9d2ea45f52696dcbca6f48fc54f2626290310d1a9807', NULL, NULL, 1796104268851709, '{"proposal":"proposal:14","reason":"not now"}', '\x0fdc57391f5f87724fa8d2355864c1ed', '\xce6446740c1fef3e0bcc3c0293749f89377601493360e41caaf973749c79e449', '\x7936e379d68ffa733805e7febb4d60bedfa6c33a4c724f4e825f287002b0420d'),
	('Swarm-1', 19, 'board.policy-changed', 1, 'operator:ops', NULL, '01a230282c34-eae3693c2a3a1142e16d', '\x6c67b974a7959df52f4cdfe3ebe49a3172ccd8b19a511aa8a1154b76be66ee97', NULL, NULL, 1796104268853394, '{"policy":{"broadcast":true,"completion":"reread","completion_window":9,"coordinator":null,"covers_pointer":"/covers","demotion":"revalidate","finished":["done"],"on_unnotifiable":"single-writer","require_view":true,"revisions":"advancing","signals":{"citation-decay":{"effect":"suspect","minimum":4,"ratio":0.5,"window":8},"completion-over-open":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"confidence-inflation":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"invented-record":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"read-elision":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"revision-break":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"write-breadth":{"effect":"off","minimum":3,"ratio":0.5,"window":8}},"status_pointer":"/status","unfinished":["open","running"],"unseen":"block"}}', '\xcbb02264a1f5b053faa43461dfff3076', '\x4352cbe1aed171c213b48c8ff1b4f0f40b25cc453ba8e802e7e277cdda9da3ac', '\xcc4d2eb946b1df0491b19c86aa48fe7ba076300de7379ee8c6876f29f26d3723'),
	('refunds-1', 1, 'board.opened', 1, 'operator:ops', NULL, '01a230282c3f-5f255a4e6b8dd7fb647d', '\x7e444ad74dd844cd48c361103e72aeffa32c70ff45fab8763a10a432154ee45b', NULL, NULL, 1796104268863995, '{"format":1,"name":"refunds-1","policy":{"broadcast":true,"completion":"reread","completion_window":8,"coordinator":null,"covers_pointer":"/covers","demotion":"revalidate","finished":["done"],"on_unnotifiable":"single-writer","require_view":true,"revisions":"advancing","signals":{"citation-decay":{"effect":"suspect","minimum":4,"ratio":0.5,"window":8},"completion-over-open":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"confidence-inflation":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"invented-record":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"read-elision":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"revision-break":{"effect":"flag","minimum":3,"ratio":0.5,"window":8},"write-breadth":{"effect":"off","minimum":3,"ratio":0.5,"window":8}},"status_pointer":"/status","unfinished":["open","running"],"unseen":"block"}}', '\x241aee907280ecfb86daeacb6fa3919b', '\x5f2dd4af009b12b5150ccc8983ac6f80bf35f60ade165c6ce2953d84bdec7ca5', '\xd35c828ddd877661b218e7b7e27c632158e2f4bedf7c2aeb5e1c49df161063dc'),
	('refunds-1', 2, 'entry.written', 1, 'agent:writer', NULL, '01a230282c45-2b812d168dc114c51bfc', '\x74c1ea58b81b27b720fa5f97742357a40c8acfddd8c98f7cf565ab2c1922a442', 'a', 1, 1796104268869221, '{"payload_hash":"7270fcc33078949fd0df71f342878efb86e69eeedf762fc5e35c205194dbf97c","value":"before"}', '\x4a9e30ce8d2a53a34833b58b87f23139', '\xc7c660616c1efb3d18343c17e430d26db145bf25460a2802af4f3319dfca94d7', '\xec0b716288dbc4f6e8d89c4716eb2be3c23f7d7026ad329fb40a741371e3ee73'),
	('refunds-1', 3, 'agent.compacted', 1, 'agent:payer', NULL, '01a230282c4d-0077ef30a07b4345752d', '\x336f69b61cdf91bf68f79f5c261620b97a16c7210332fd15913c020f6ea947a8', NULL, NULL, 1796104268877488, '{"agents":["payer"],"base_seq":2,"cause":"summary","kept":[],"tokens_after":20000,"tokens_before":180000}', '\x66b69a42cb8cb15ada41cb4ed421ae0c', '\xac0e68928eb071d03fe89eb3a662f1de1db4ec04ee3887e716ee2f8943126876', '\xba8477acc458d8af6abececa00243687033cd4e858ff708ef30fbec8322b61d6'),
	('refunds-1', 4, 'message.posted', 1, 'agent:writer', NULL, '01a230282c55-ef7158db45cd52d1e92d', '\xdb786d5224841e6bb249d371ff3007080cbe7915527ee13ebe8d9e6fee2e6e5b', NULL, NULL, 1796104268885928, NULL, NULL, '\x847db98809ec623a0d7968aab1c0e186dd0beed35f62dbfb0e8cfb43879a1e1c', '\x0cd5c9d5b706a98552f38df00044a667b30f0a4979c9cc94ff736d26cbd8110f'),
	('refunds-1', 5, 'entry.written', 1, 'agent:writer', NULL, '01a230282c5d-13f943c41a164aa93b89', '\x008083677265e59cb38135fb0bc91e030bef5115feb9737b0296ea9ade69633a', 'a', 2, 1796104268893478, '{"payload_hash":"449e4ebf392528efe1e5c5cf5436984e01540cff25b45a861fc88f23f22fd3da","value":"after"}', '\x99e356ddcabd4f33470b89933b18a927', '\xf04c4b0cf8e906800cca9604ffc1640dfa70fd87348ec08c08aa2ec298221c91', '\x4b94f8ae02d285d598fffd5feb3c4d8e780bc46cb1037afcb071f1157ed8331e');
INSERT INTO public.formats VALUES
	(1, '0.1.0');
INSERT INTO public.snapshots VALUES
	('refunds-1', 'projections/1', 3, 0, '\xdca1e714516a501d9ad425fb0f835727a553d5890767403fa28245f36ce12824', '\x0000032b9da9726566756e64732d3103cf0006618c1cecd9fb018ea97265766973696f6e73a9616476616e63696e67ac726571756972655f76696577c3a864656d6f74696f6eaa726576616c6964617465aa636f6d706c6574696f6ea6726572656164b1636f6d706c6574696f6e5f77696e646f7708ae7374617475735f706f696e746572a72f737461747573ae636f766572735f706f696e746572a72f636f76657273a866696e697368656491a4646f6e65aa756e66696e697368656492a46f70656ea772756e6e696e67a77369676e616c7387ae6369746174696f6e2d646563617984a6656666656374a773757370656374a677696e646f7708a76d696e696d756d04a5726174696fcb3fe0000000000000b4636f6d706c6574696f6e2d6f7665722d6f70656e84a6656666656374a4666c6167a677696e646f7708a76d696e696d756d03a5726174696fcb3fe0000000000000b4636f6e666964656e63652d696e666c6174696f6e84a6656666656374a4666c6167a677696e646f7708a76d696e696d756d03a5726174696fcb3fe0000000000000af696e76656e7465642d7265636f726484a6656666656374a4666c6167a677696e646f7708a76d696e696d756d03a5726174696fcb3fe0000000000000ac726561642d656c6973696f6e84a6656666656374a4666c6167a677696e646f7708a76d696e696d756d03a5726174696fcb3fe0000000000000ae7265766973696f6e2d627265616b84a6656666656374a4666c6167a677696e646f7708a76d696e696d756d03a5726174696fcb3fe0000000000000ad77726974652d6272656164746884a6656666656374a36f6666a677696e646f7708a76d696e696d756d03a5726174696fcb3fe0000000000000a962726f616463617374c3ab636f6f7264696e61746f72c0af6f6e5f756e6e6f7469666961626c65ad73696e676c652d777269746572a6756e7365656ea5626c6f636ba46f70656ec09192ab6167656e743a70617965729303a9636f6d706163746564d932636f6d706163746564202873756d6d617279292c206465636c6172656420627920697473656c6620696e206576656e742033919402a16101a67772697465729090c4010402000000e8dc0014a6777269746572c287ac636f6d7061637465645f617400ac7375737065637465645f617400a66c617465737400a3776879a0a6707265666978a0a46f77656400a6736572766564c28aa47475726ec0a5656e646564c2a46b65797390a373657100a56c6f6f736590a96c6f6f73655f73657102a573697a65739101a4736571739102a372756e00aa6e6172726f775f7365710086a8636f6d6d616e647301a5726561647300a77265726561647300a677726974657301ab636f6d70616374696f6e7300a86d6573736167657300910290909192a1610290909090900090909192a16102909000000113dc0014a57061796572c287ac636f6d7061637465645f617403ac7375737065637465645f617400a66c617465737403a3776879d932636f6d706163746564202873756d6d617279292c206465636c6172656420627920697473656c6620696e206576656e742033a6707265666978a0a46f77656401a6736572766564c28aa47475726ec0a5656e646564c2a46b65797390a373657100a56c6f6f736590a96c6f6f73655f73657100a573697a657390a47365717390a372756e00aa6e6172726f775f7365710086a8636f6d6d616e647301a5726561647300a77265726561647300a677726974657300ab636f6d70616374696f6e7301a86d6573736167657300910390909090909090900291920302909090900000003e919ba161c408226265666f72652201a677726974657202c4207270fcc33078949fd0df71f342878efb86e69eeedf762fc5e35c205194dbf97c0201c2c0c0');
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
ALTER TABLE ONLY public.snapshots
    ADD CONSTRAINT pk_snapshots PRIMARY KEY (board, fingerprint, seq, part);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT pk_tokens PRIMARY KEY (id);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT uq_tokens_digest UNIQUE (digest);
CREATE UNIQUE INDEX uq_events_board_actor_command_id ON public.events USING btree (board, actor, command_id) WHERE (request_digest IS NOT NULL);
CREATE UNIQUE INDEX uq_events_board_key_revision ON public.events USING btree (board, key, revision) WHERE (kind = 'entry.written'::text);
