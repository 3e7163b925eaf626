-- The events and the questions of one run, without a look at those of others.
CREATE INDEX event_run ON event (run) WHERE run <> '';
CREATE INDEX question_run ON question (data ->> 'run', asked, id);
