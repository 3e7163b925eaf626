package ledger

// The names of findings. Those of the first group are about a file as a whole,
// of the second about the form of a record, of the third about values that make
// no sense although their form is right, of the fourth about records as they are
// found in the wild. Those about JSON itself are [statefile.CheckPortable]'s.
const (
	notJSON      = "not-json"
	unreadable   = "unreadable"
	notADocument = "not-a-document"
	notRecord    = "not-a-record"
	sameAttempt  = "same-attempt-twice" // of a file that a report leaves out

	notObject     = "not-an-object"
	missingField  = "missing-field"
	unknownField  = "unknown-field"
	wrongType     = "wrong-type"
	unknownValue  = "unknown-value"
	unknownAgent  = "unknown-agent"
	emptyText     = "empty-text"
	tooSmall      = "too-small"
	notAHash      = "not-a-hash"
	notATimestamp = "not-a-timestamp"
	unknownSchema = "unknown-schema-version"

	tooLarge         = "too-large"
	hashDiffers      = "hash-differs"
	promptDiffers    = "prompt-differs"
	doneWithError    = "done-with-exit-code"
	exitWhileRunning = "exit-code-while-running"
	endWithoutTime   = "end-without-time"
	retryAfterDone   = "retry-after-done"
	outcomeDiffers   = "outcome-differs"

	minimalForm          = "minimal-form"
	placeholderTimestamp = "legacy-placeholder-timestamp"
	offsetTimestamp      = "offset-timestamp"
	variableInPath       = "unexpanded-variable-in-path"
	beadNotBD            = "bead-not-bd"
	beadDiffers          = "bead-differs-from-file"
	attemptDiffers       = "attempt-differs-from-file"
	durationDiffers      = "duration-differs"
	endsBeforeStart      = "finished-before-started"
	stuckRunning         = "stuck-running"
	runWithoutResult     = "run-without-result"
	resultWithoutRun     = "result-without-run"
)
