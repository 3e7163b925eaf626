package ledger

// The names of findings, which are problems that the validation finds in records. They are in four
// groups. The first group is about a file as a whole, and the second about fields and the types of
// their values. The third group is about values that have the right type but make no sense. The
// fourth group is about unusual content that other programs write. Findings about JSON itself have
// names from [statefile.CheckPortable].
const (
	notJSON      = "not-json"
	unreadable   = "unreadable"
	notADocument = "not-a-document"
	notRecord    = "not-a-record"
	// sameAttempt is the reason why a report does not count a file: another file has a record of
	// the same kind for the same attempt.
	sameAttempt = "same-attempt-twice"

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
