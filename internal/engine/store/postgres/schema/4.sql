-- Small rows of any kind, in lists.
CREATE TABLE item (
	kind   TEXT COLLATE "C" NOT NULL,
	id     TEXT COLLATE "C" NOT NULL,
	parent TEXT COLLATE "C" NOT NULL,
	seq    BIGINT NOT NULL,
	data   TEXT NOT NULL,
	PRIMARY KEY (kind, id)
);
CREATE INDEX item_list ON item (kind, parent, seq, id);
