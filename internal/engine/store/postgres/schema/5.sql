-- What has ended, the latest last: it is only ever looked at a little at a time.
CREATE INDEX task_ended ON task (run, status, seq) WHERE status IN ('complete', 'failed', 'cancelled');
