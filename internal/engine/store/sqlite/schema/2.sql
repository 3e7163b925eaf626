-- Small rows of any kind, in lists.
CREATE TABLE item (
	kind   TEXT NOT NULL,
	id     TEXT NOT NULL,
	parent TEXT NOT NULL,
	seq    INTEGER NOT NULL,
	data   TEXT NOT NULL
);
CREATE UNIQUE INDEX item_key ON item (kind, id);
CREATE INDEX item_list ON item (kind, parent, seq, id);
