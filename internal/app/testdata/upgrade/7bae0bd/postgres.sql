SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA ramet_upgrade;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE ramet_upgrade.agents (
    genesis_id bigint NOT NULL,
    uuid text NOT NULL COLLATE pg_catalog."C",
    name text COLLATE pg_catalog."C",
    parent_uuid text COLLATE pg_catalog."C",
    fork_message_id bigint,
    depth bigint NOT NULL,
    status text NOT NULL,
    end_reason text,
    provider text NOT NULL,
    model text NOT NULL,
    cwd text NOT NULL,
    created_at bigint NOT NULL,
    ended_at bigint,
    lease_owner text,
    lease_epoch bigint DEFAULT 0 NOT NULL,
    lease_until bigint,
    head_id bigint NOT NULL,
    head_hash bytea NOT NULL,
    own bigint NOT NULL,
    total bigint NOT NULL,
    spent_tokens bigint DEFAULT 0 NOT NULL,
    spent_cost bigint DEFAULT 0 NOT NULL,
    budget_tokens bigint,
    budget_cost bigint,
    CONSTRAINT agents_check CHECK (((parent_uuid IS NULL) = (fork_message_id IS NULL))),
    CONSTRAINT agents_status_check CHECK ((status = ANY (ARRAY['running'::text, 'dead'::text])))
)
WITH (fillfactor='70');
CREATE TABLE ramet_upgrade.blob_refs (
    message_id bigint NOT NULL,
    hash bytea NOT NULL
);
CREATE TABLE ramet_upgrade.blobs (
    hash bytea NOT NULL,
    size bigint NOT NULL,
    data bytea NOT NULL
);
ALTER TABLE ONLY ramet_upgrade.blobs ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE SEQUENCE ramet_upgrade.letter_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE ramet_upgrade.mail (
    id bigint NOT NULL,
    number bigint NOT NULL,
    from_uuid text COLLATE pg_catalog."C",
    to_uuid text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL,
    salt bytea NOT NULL,
    created_at bigint NOT NULL,
    read_at bigint,
    deleted_at bigint,
    in_reply_to bigint,
    txid xid8 DEFAULT pg_current_xact_id() NOT NULL
);
CREATE SEQUENCE ramet_upgrade.message_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE ramet_upgrade.messages (
    id bigint NOT NULL,
    agent_uuid text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    content bytea,
    meta text NOT NULL,
    created_at bigint NOT NULL,
    hash bytea NOT NULL,
    salt bytea,
    commitment bytea NOT NULL,
    seq bigint NOT NULL,
    txid xid8 DEFAULT pg_current_xact_id() NOT NULL
);
CREATE TABLE ramet_upgrade.ramet_schema (
    version bigint NOT NULL
);
CREATE TABLE ramet_upgrade.replies (
    agent_uuid text NOT NULL COLLATE pg_catalog."C",
    after_id bigint NOT NULL,
    text bytea NOT NULL,
    updated_at bigint NOT NULL
);
INSERT INTO ramet_upgrade.agents VALUES (10, 'UtrpObCHZTYIytq_ZPFHhg', 'bob', 'RtJS-dlXuWbBbrChPhuY8g', 8, 2, 'running', NULL, '', '', '/srv/ramet-upgrade/project', 1794770548042664, NULL, NULL, 1, NULL, 14, '\x039c712cf064d0a9b79e3a2ece3516c9222aa65e29e30d36cf178c34e81b1456', 2, 4, 3208, 0, NULL, NULL);
INSERT INTO ramet_upgrade.agents VALUES (4, 'RtJS-dlXuWbBbrChPhuY8g', 'ada', 'cL8i9SPg1oLiWvUDo4NJfw', 2, 1, 'running', NULL, '', '', '/srv/ramet-upgrade/project', 1794770547091640, NULL, NULL, 0, NULL, 16, '\x4a24a8201dd03e2deb6ad0d31db240602b9aec2cc56c702abcd254b84f238919', 3, 3, 0, 0, NULL, NULL);
INSERT INTO ramet_upgrade.agents VALUES (1, 'cL8i9SPg1oLiWvUDo4NJfw', NULL, NULL, NULL, 0, 'running', NULL, '', '', '/srv/ramet-upgrade/project', 1794770547027057, NULL, NULL, 0, NULL, 17, '\x1f867bf4ed53fd309907b963ed97adcfcd54d3515aff2f88a3ce02d3c1eb5f57', 1, 1, 0, 0, NULL, NULL);
INSERT INTO ramet_upgrade.agents VALUES (18, 'V0ciALJ-t-hycVbXd_Mc4g', 'carl', 'cL8i9SPg1oLiWvUDo4NJfw', 3, 1, 'dead', 'killed', '', '', '/srv/ramet-upgrade/project', 1794770548850253, 1794770549608516, NULL, 1, NULL, 21, '\x1fe7cec7a64671e9be4959d3fb157d00406af7fc6aafe52fce3098224bf9120f', 1, 2, 0, 0, NULL, NULL);
INSERT INTO ramet_upgrade.blob_refs VALUES (16, '\x42e8bc96b8eec8c4e5d503483ba0cb843ce95243c8ca8575ffc69cd25d12c61c');
INSERT INTO ramet_upgrade.blobs VALUES ('\x42e8bc96b8eec8c4e5d503483ba0cb843ce95243c8ca8575ffc69cd25d12c61c', 20000, '\x28b52ffd64204d0371027804a0a1a0');
INSERT INTO ramet_upgrade.mail VALUES (1, 1, 'UtrpObCHZTYIytq_ZPFHhg', 'RtJS-dlXuWbBbrChPhuY8g', 'the bridge is down', '\xb84209f587a3cf6774e549716cf8fdf8', 1794770548386439, NULL, NULL, NULL, '149330');
INSERT INTO ramet_upgrade.mail VALUES (2, 1, 'RtJS-dlXuWbBbrChPhuY8g', 'UtrpObCHZTYIytq_ZPFHhg', 'then by boat', '\xf227bffe7282ba77f426e4785223ce40', 1794770548550035, 1794770548706084, NULL, NULL, '149331');
INSERT INTO ramet_upgrade.messages VALUES (1, 'cL8i9SPg1oLiWvUDo4NJfw', 'fork', '\x', '{"cwd":"/srv/ramet-upgrade/project","name":""}', 1794770547027057, '\x3feb1d827411ecd1a06085e3b524b5f732585111fb31f91bd7ac3de15711ad70', '\x18aae8e4b83415a264591d0c2e2b2b78', '\x590c492b2bfebd93c428d71494b2d0f72b9ebd04938d95f273a419407c37dc73', 0, '149317');
INSERT INTO ramet_upgrade.messages VALUES (2, 'cL8i9SPg1oLiWvUDo4NJfw', 'user', '\x5b7b2274797065223a2274657874222c2274657874223a2274686520706c616e3a206f6e6520726f61642c2074776f20746f776e73227d5d', '{}', 1794770547036140, '\x4a8ff78fb5f07e52e058f804e1339ee95a4a2d29d3d392980d7198735826238c', '\x64a8f7b484fa777e6a9c623d13916389', '\x84d0d5e214f4f28dd117f3ad31e4de1e2aee0aeaf641e1dff7ff891250828f70', 1, '149318');
INSERT INTO ramet_upgrade.messages VALUES (3, 'cL8i9SPg1oLiWvUDo4NJfw', 'fork', '\x', '{"children":["RtJS-dlXuWbBbrChPhuY8g"]}', 1794770547091640, '\xa6a705d16edba01a39bf98a638355da5f5f8396d9f8bd6b1c36670555e1c05d7', '\x969408d0e7747d3020528c519669b9b6', '\x0f0c41ddc68ccc77bc009896418b14877142033ca8943045cfefce45daf3641b', 1, '149319');
INSERT INTO ramet_upgrade.messages VALUES (4, 'RtJS-dlXuWbBbrChPhuY8g', 'fork', '\x', '{"cwd":"/srv/ramet-upgrade/project","fork_message_id":"2","name":"ada","parent_uuid":"cL8i9SPg1oLiWvUDo4NJfw"}', 1794770547091640, '\x0ae045fe353d4cd8a71c3331ab73db41d3a398cf09665fce58e70572c7d100df', '\xf20f65b5dabcb35b68871c506d4cac70', '\xe035e057191b21f9de1db005e854492f94fc4254ba0b8be87a597d9b505eff67', 0, '149319');
INSERT INTO ramet_upgrade.messages VALUES (5, 'RtJS-dlXuWbBbrChPhuY8g', 'user', '\x5b7b2274797065223a2274657874222c2274657874223a22616461206c6f6f6b7320617420746865206e6f727468227d5d', '{}', 1794770547399003, '\x4c5a4d69f20fa4e418042456d97667ddaaa2508b5bc227f4dcc26ebaeb0d3708', '\xd6a933da3a05389a86140ce423128db9', '\xb481eb1adb5c32183a5e8b109d0818c9b20dad70cf084b4063f0e392224f039a', 1, '149320');
INSERT INTO ramet_upgrade.messages VALUES (6, 'RtJS-dlXuWbBbrChPhuY8g', 'mark', '\x', '{"label":"north"}', 1794770547510163, '\x6fd09a707c6f3aa2b6da3b81c243efbf8a726d5232e005011f8548a67a6dc9c7', '\x072602dbce386f056d4f0ceb4f20ef69', '\xb7b5251dff03cdd646c7ea0d5ec33a73ec31c097c734820aecfb207911b7a674', 1, '149321');
INSERT INTO ramet_upgrade.messages VALUES (7, 'RtJS-dlXuWbBbrChPhuY8g', 'user', '\x5b7b2274797065223a2274657874222c2274657874223a2261206465746f7572227d5d', '{}', 1794770547612610, '\xd856abe8dd19478be7cca0c20049fa5937a787e694847722e7b5ab61cde31800', '\x0601aeedc23a660eb1de147904452b36', '\x20c4cb02830d431fd25499de1bf86b30cecda63c665e8d6541c7e2f1d8071001', 2, '149322');
INSERT INTO ramet_upgrade.messages VALUES (8, 'RtJS-dlXuWbBbrChPhuY8g', 'rewind', '\x', '{"label":"north","target":"6"}', 1794770547877493, '\x776173641c73e44c2f7defc93d3ed05bfcc448cd30a9a4199c1fc04f6110245c', '\x487bb3600e79e2ccfd99c8881d8a8de7', '\x206aeaa9a77b3afed29043af0ffc813c45572abcb3856380596f0de43bf95aa3', 2, '149323');
INSERT INTO ramet_upgrade.messages VALUES (9, 'RtJS-dlXuWbBbrChPhuY8g', 'fork', '\x', '{"children":["UtrpObCHZTYIytq_ZPFHhg"]}', 1794770548042664, '\x22a591bee53e351ba9524fbcc1f57888ce8ccf1f1a203948c6edbc5e58f2af72', '\x47c2384d616eb0415ba6af71468fc4f6', '\x0a434e5d77d435fa8e2c5255413eb1bf7795fecc55a651852aabc73fdbea06d2', 2, '149324');
INSERT INTO ramet_upgrade.messages VALUES (10, 'UtrpObCHZTYIytq_ZPFHhg', 'fork', '\x', '{"cwd":"/srv/ramet-upgrade/project","fork_message_id":"8","name":"bob","parent_uuid":"RtJS-dlXuWbBbrChPhuY8g"}', 1794770548042664, '\x518cb38d9b44118f9128829288e3b4e362029288edb59ddde3874f3535315fa9', '\xafdd38bbfc3bbd855b68088fef640fff', '\xf1c5c0043bf7fc6f2e931b7b297a9fe14de7d835c52aae4b99e0cc15afe987f5', 0, '149324');
INSERT INTO ramet_upgrade.messages VALUES (11, 'UtrpObCHZTYIytq_ZPFHhg', 'user', '\x5b7b2274797065223a2274657874222c2274657874223a227768617420697320322b323f227d5d', '{}', 1794770548222586, '\x4abfe08e8dd6f82487118d7ab2caada0dd84446235ea01a35cd18487153940c7', '\x8f4429b05fe53c7d534c55e19ea75a59', '\x012bbacb8f06e42d3bb4fac5cb5f88c5b11264f19e4af898c7cff2fae8e17875', 1, '149327');
INSERT INTO ramet_upgrade.messages VALUES (12, 'UtrpObCHZTYIytq_ZPFHhg', 'assistant', '\x5b7b2274797065223a2274657874222c2274657874223a225b6f66666c696e65206d6f64656c5d204920646f206e6f7420756e6465727374616e64205c227768617420697320322b325c222c20736f204920646964206e6f7468696e672e5c6e5c6e4920756e6465727374616e6420706c61696e206f72646572732c20737563682061733a5c6e5c6e2d2072756e2060676f2074657374202e2f2e2e2e605c6e2d206c697374207468652066696c65733b207265616420524541444d452e6d643b2073656172636820666f7220544f444f20696e202a2e676f3b2066696e64202a2e6d645c6e2d207772697465205c2268656c6c6f5c2220746f20612e7478743b207265706c6163652068656c6c6f207769746820676f6f6462796520696e20612e7478745c6e2d20666f726b2074776f206368696c6472656e3a206f6e6520726561647320612e74787420616e64206f6e652072756e7320606c73605c6e2d2073656e6420616461205c2268656c6c6f5c223b207761697420666f72206d61696c3b20636865636b206d79206d61696c3b2072656164206d79206d61696c5c6e2d206c69737420746865206167656e74733b206b696c6c206164613b20657869745c6e5c6e4a6f696e2073746570732077697468205c227468656e5c222e20466f722061206d6f64656c2074686174207468696e6b732c206072616d65742061757468207365742056454e444f52602074616b65732061206b65792e227d5d', '{}', 1794770548261978, '\xc5c101773d8e20d73c1be42e845c7ca78d74e85a799af623d28f1a38931acaaa', '\x089528b473066915e009f414cd3007ba', '\xc5aa8ea3badae1bce4b1bea49ebaa9d1792f4c817c543fa6a7c4d50c98f5c9c7', 2, '149328');
INSERT INTO ramet_upgrade.messages VALUES (13, 'UtrpObCHZTYIytq_ZPFHhg', 'usage', '\x', '{"call":{"attempts":1,"cache_read":0,"cache_write":0,"cost_nano_usd":0,"first_ms":4,"input":3083,"model":"offline/offline","outcome":"stop","output":125,"priced":true,"reasoning":0,"request":"83e2416c4c06c621ec570658177bdd1f3edd331a1502c24a978d7fc59b95c24d","took_ms":4}}', 1794770548261978, '\x88a11294150f27e3e876bf78dd5875243033b76414fdd4178151cb45bfb48b9d', '\xd8d1a5fd4718b5f16f8660dda430e2a7', '\x4906ad10a85096f44b4aaaa3ffa2d3a9f1c0a7c02068141248c61f982a3b3b9d', 2, '149328');
INSERT INTO ramet_upgrade.messages VALUES (14, 'UtrpObCHZTYIytq_ZPFHhg', 'mail', '\x', '{"body_commitment":"39baa04086793f737c2dc54f077f1067d7f928d4d644d4c6ddf1ee2696181eb1","letter_id":"1","to":"RtJS-dlXuWbBbrChPhuY8g"}', 1794770548394824, '\x039c712cf064d0a9b79e3a2ece3516c9222aa65e29e30d36cf178c34e81b1456', '\x8ce9980041ae59e751b927b3c492df6a', '\xfdd7dd97f22ac3dd8319301adbce413e50dea25ef542a3d390ab266e8c105a5d', 2, '149330');
INSERT INTO ramet_upgrade.messages VALUES (15, 'RtJS-dlXuWbBbrChPhuY8g', 'mail', '\x', '{"body_commitment":"84f8b5c3c7ba01f1a899945b9aa87f6d340880b42e34e119e9ffffc919ba3346","letter_id":"2","to":"UtrpObCHZTYIytq_ZPFHhg"}', 1794770548594235, '\x6f010aa9e1d92b5a67558036665504e46bb08913d6f011167fd9d43fb247b4d6', '\x0354dfd7544f9b59ee0eef3f2063c076', '\xae8c583e92eb1210d648ebdee7f5b73d33e29a57d94354f1ae716c310bda910f', 2, '149331');
INSERT INTO ramet_upgrade.messages VALUES (16, 'RtJS-dlXuWbBbrChPhuY8g', 'user', '\x5b7b2274797065223a2274657874222c22626c6f62223a2234326538626339366238656563386334653564353033343833626130636238343363653935323433633863613835373566666336396364323564313263363163222c2273697a65223a32303030307d5d', '{}', 1794770548791237, '\x4a24a8201dd03e2deb6ad0d31db240602b9aec2cc56c702abcd254b84f238919', '\x78a38c7ceb8fec2c876712caac3af41f', '\xb908fdc68daf87e6dfe811722d60c6f962338adaf22c000cb8033e15180560d5', 3, '149333');
INSERT INTO ramet_upgrade.messages VALUES (17, 'cL8i9SPg1oLiWvUDo4NJfw', 'fork', '\x', '{"children":["V0ciALJ-t-hycVbXd_Mc4g"]}', 1794770548850253, '\x1f867bf4ed53fd309907b963ed97adcfcd54d3515aff2f88a3ce02d3c1eb5f57', '\x26afdd5b91789b2b8fccbcca98807778', '\x2696b45639f95b3107eb52ba1ea346a84f489ca0d0fefd6233067bb7faef7393', 1, '149334');
INSERT INTO ramet_upgrade.messages VALUES (18, 'V0ciALJ-t-hycVbXd_Mc4g', 'fork', '\x', '{"cwd":"/srv/ramet-upgrade/project","fork_message_id":"3","name":"carl","parent_uuid":"cL8i9SPg1oLiWvUDo4NJfw"}', 1794770548850253, '\x5ec27879fed5dc2aa4ed20b054956a9bb8c4861a36364f8bbdbdd83978b460d0', '\xbae82b767708b8824c85927c31b4b41f', '\xc5bf386ae0d38a8f7b13bbf85c54764a92ea538266ba8efc83c657464a0fdf1a', 0, '149334');
INSERT INTO ramet_upgrade.messages VALUES (19, 'V0ciALJ-t-hycVbXd_Mc4g', 'user', NULL, '{}', 1794770548934025, '\x4b0a72666cb3cb99b0838c2fc59728d42620d493b3ce0402529addca96d29cbd', NULL, '\x2f4397ecf0ef9b901137a74542b7589c1c256d5668e114e11f3dcfe4f66cf540', 1, '149335');
INSERT INTO ramet_upgrade.messages VALUES (20, 'V0ciALJ-t-hycVbXd_Mc4g', 'redact', '\x', '{"target":"19"}', 1794770549010129, '\x1b4babb442857e080943cb5a5289ec3908890e54bbfe36a2f1058fe529245849', '\x1147e96fdc1f08b86cf21d103606be2d', '\x5704cfcc0637d526759b0c42a24062a0ec2f28d209afd34b3e60dac3c7e8fc30', 1, '149336');
INSERT INTO ramet_upgrade.messages VALUES (21, 'V0ciALJ-t-hycVbXd_Mc4g', 'killed', '\x', '{"reason":"killed"}', 1794770549608516, '\x1fe7cec7a64671e9be4959d3fb157d00406af7fc6aafe52fce3098224bf9120f', '\x43b9731a7bc88063264bce3813515129', '\xb905ec52ecc333d43475ee4d54b2fa6ecaa76d27b9c3efdb58eec4d16355ec9c', 1, '149340');
INSERT INTO ramet_upgrade.ramet_schema VALUES (2);
SELECT pg_catalog.setval('ramet_upgrade.letter_ids', 2, true);
SELECT pg_catalog.setval('ramet_upgrade.message_ids', 21, true);
ALTER TABLE ONLY ramet_upgrade.agents
    ADD CONSTRAINT agents_pkey PRIMARY KEY (genesis_id);
ALTER TABLE ONLY ramet_upgrade.agents
    ADD CONSTRAINT agents_uuid_key UNIQUE (uuid);
ALTER TABLE ONLY ramet_upgrade.blob_refs
    ADD CONSTRAINT blob_refs_pkey PRIMARY KEY (message_id, hash);
ALTER TABLE ONLY ramet_upgrade.blobs
    ADD CONSTRAINT blobs_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY ramet_upgrade.mail
    ADD CONSTRAINT mail_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ramet_upgrade.mail
    ADD CONSTRAINT mail_to_uuid_number_key UNIQUE (to_uuid, number);
ALTER TABLE ONLY ramet_upgrade.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ramet_upgrade.replies
    ADD CONSTRAINT replies_pkey PRIMARY KEY (agent_uuid);
CREATE INDEX agents_dead_name ON ramet_upgrade.agents USING btree (name, ended_at) WHERE ((name IS NOT NULL) AND (status = 'dead'::text));
CREATE INDEX agents_leased ON ramet_upgrade.agents USING btree (lease_owner) WHERE (lease_owner IS NOT NULL);
CREATE UNIQUE INDEX agents_living_name ON ramet_upgrade.agents USING btree (name) WHERE ((name IS NOT NULL) AND (status = 'running'::text));
CREATE INDEX agents_parent ON ramet_upgrade.agents USING btree (parent_uuid);
CREATE UNIQUE INDEX agents_zero ON ramet_upgrade.agents USING btree (((parent_uuid IS NULL))) WHERE (parent_uuid IS NULL);
CREATE INDEX blob_refs_hash ON ramet_upgrade.blob_refs USING btree (hash);
CREATE INDEX mail_feed ON ramet_upgrade.mail USING btree (txid);
CREATE INDEX mail_unread ON ramet_upgrade.mail USING btree (to_uuid, number) WHERE ((read_at IS NULL) AND (deleted_at IS NULL));
CREATE INDEX messages_agent ON ramet_upgrade.messages USING btree (agent_uuid, id);
CREATE INDEX messages_feed ON ramet_upgrade.messages USING btree (txid);
CREATE INDEX messages_shaping ON ramet_upgrade.messages USING btree (agent_uuid, id) WHERE (kind = ANY (ARRAY['clear'::text, 'mark'::text, 'rewind'::text, 'compact'::text]));
CREATE INDEX messages_usage ON ramet_upgrade.messages USING btree (id) WHERE (kind = 'usage'::text);
ALTER TABLE ONLY ramet_upgrade.agents
    ADD CONSTRAINT agents_parent_uuid_fkey FOREIGN KEY (parent_uuid) REFERENCES ramet_upgrade.agents(uuid);
ALTER TABLE ONLY ramet_upgrade.blob_refs
    ADD CONSTRAINT blob_refs_message_id_fkey FOREIGN KEY (message_id) REFERENCES ramet_upgrade.messages(id);
ALTER TABLE ONLY ramet_upgrade.mail
    ADD CONSTRAINT mail_in_reply_to_fkey FOREIGN KEY (in_reply_to) REFERENCES ramet_upgrade.mail(id);
ALTER TABLE ONLY ramet_upgrade.mail
    ADD CONSTRAINT mail_to_uuid_fkey FOREIGN KEY (to_uuid) REFERENCES ramet_upgrade.agents(uuid);
