// Package docs tests the documentation: every fenced block of README, docs and the
// other pages is run or checked.
//
// The commands of a page run in order, in one shell and one empty project. The agent
// programs and go are stubs in testdata/bin. Each page has its own HOME and state
// folder. Servers listen on a free port of this machine instead of 4870.
//
//	sh        each command must succeed
//	console   "$ COMMAND" and below it its output
//	text      directly below sh or a run comment: must be the output of the last
//	          command; elsewhere its text is not checked
//	yaml      plans must pass 'gaffer plan check', settings 'gaffer config'
//	json      must be JSON, one value or one on each line
//	go        must be statements with the syntax of Go
//
// A block without a language is an error, and so is a command in a text block.
//
// The shown output must be the whole output, apart from times, ids, durations and
// widths of columns. A line "…" stands for any lines, "…" in a line for any text. A
// command must fail if and only if the page shows its error, "gaffer: …". A command
// that runs until it is stopped, such as 'gaffer serve', must become ready. It is
// stopped at the end of the page, or when another command of the same kind starts.
//
// A document whose first line is "# FILE", or that has a comment "file: FILE" above
// it, is written to that file.
//
// Invisible comments in a page:
//
//	<!-- run: COMMAND -->        runs here without being shown; may have several lines
//	<!-- with: TEXT = VALUE -->  replaces TEXT with VALUE in later commands
//	<!-- file: FILE -->          the document below is this file
//	<!-- not run: REASON -->     the block below is not run
//
// testdata/PAGE.txtar contains the files of the project at the start of the page. A
// file "setup.sh" is run after the others were created. A file "inline" has a line
// "SPAN => COMMAND" for each `gaffer …` in the text of the page: the command that is
// run for it, in its own project.
//
// Besides the programs of the machine, commands can use:
//
//	keys TEXT COMMAND…   runs COMMAND in a terminal and types TEXT there
//	interrupt COMMAND…   kills COMMAND as soon as an agent works for it
//	~/play               a file that says what the stub of Claude Code does for each task
//	$EXAMPLES            the folder of examples
//	$OUTPUT              the file with the output of the last command
//	$POSTGRES            the URL of an empty PostgreSQL database
package docs
