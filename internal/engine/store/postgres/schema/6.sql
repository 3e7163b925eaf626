-- The events and the questions of one run, without a look at those of others. The
-- server finds out which run an event is of: so the events are complete also while
-- an older gaffer still writes.
ALTER TABLE event ADD run TEXT COLLATE "C" GENERATED ALWAYS AS (readable(data) ->> 'run') STORED;
CREATE INDEX event_run ON event (run, seq) WHERE run IS NOT NULL;
CREATE INDEX question_run ON question ((readable(data) ->> 'run') COLLATE "C", asked, id);
