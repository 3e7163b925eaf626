// Package docs holds the test of the documentation: every fenced block of README,
// docs and the other pages is run or checked as it stands there.
//
// The commands of a page run in order, in one shell and one empty project. The
// agent programs and go are stubs in testdata/bin, HOME and the state are the
// page's own, and servers listen on a free port of this machine instead of 4870.
//
//	sh        each command must succeed
//	console   "$ COMMAND" and below it what the command prints
//	text      directly below sh or a run comment: what the last command prints;
//	          elsewhere a picture
//	yaml      a plan passes 'gaffer plan check', settings pass 'gaffer config'
//	json      is JSON, one value or one on each line
//	go        is Go
//
// A block without a language is a mistake, and so is a command in a text block.
//
// Shown output must be the whole output, apart from times, ids, durations and
// widths of columns. A line "…" stands for any lines, "…" in a line for any text.
// A command must fail if the page shows its error, "gaffer: …", and only then.
// A command that runs until it is stopped, such as 'gaffer serve', must become
// ready; it is stopped at the end of the page, or when another of its kind starts.
//
// A document whose first line is "# FILE", or that has a comment "file: FILE" above
// it, is written to that file.
//
// Comments in a page, which no reader sees:
//
//	<!-- run: COMMAND -->        runs here without being shown; may have several lines
//	<!-- with: TEXT = VALUE -->  commands from here on have VALUE where the page has TEXT
//	<!-- file: FILE -->          the document below is this file
//	<!-- not run: REASON -->     the block below is not run
//
// testdata/PAGE.txtar has the files of the project before the page begins. A file
// "setup.sh" is run when the others are there. A file "inline" has a line
// "SPAN => COMMAND" for each `gaffer …` in the text of the page: what is run for it,
// in a project of its own.
//
// Beside the programs of the machine, commands can use:
//
//	keys TEXT COMMAND…   runs COMMAND in a terminal and types TEXT there
//	interrupt COMMAND…   kills COMMAND as soon as an agent works for it
//	~/play               what the stub of Claude Code does for each task
//	$EXAMPLES            the folder of examples
//	$OUTPUT              the file with the output of the last command
//	$POSTGRES            the URL of an empty PostgreSQL database
package docs
