// Package docs tests the documentation: it runs or checks the fenced code blocks of the
// Markdown pages.
//
// The commands of a page run in order, in one shell and one project folder. Each page
// has a separate HOME and state folder. The agent programs and the go command are stubs
// in testdata/bin. Servers listen on a free port of this machine instead of port 4870.
//
// The language of a block decides how the block is tested:
//
//	sh        each command must succeed
//	console   each line "$ COMMAND" must produce the output that is shown below it
//	text      directly below an sh block or a run comment (see below), it must be the
//	          output of the last command; in other places it is not checked
//	yaml      a plan must pass 'gaffer plan check', and settings must pass 'gaffer config'
//	json      must be one JSON value, or one on each line
//	go        must be valid Go statements
//	sql       only in docs/schema.md: another test runs its queries
//
// A block without a language is an error. So is a command in a text block.
//
// A page must show the whole output. Times, ids, durations and widths of columns may
// differ. A line "…" matches any number of lines, and "…" within a line matches any
// text. If the page shows an error "gaffer: …" in a console block, the command must
// fail; otherwise it must succeed. A command that runs until it is stopped, such as
// 'gaffer serve', must become ready. It is stopped at the end of the page, or when
// another command of the same kind starts.
//
// If the first line of a block is "# FILE", and FILE is the name of a YAML, JSON or TOML
// file, the block is written to that file.
//
// A page can contain HTML comments for this test:
//
//	<!-- run: COMMAND -->        runs COMMAND, which may have several lines
//	<!-- with: TEXT = VALUE -->  replaces TEXT by VALUE in the later commands
//	<!-- file: FILE -->          writes the block below to FILE
//	<!-- not run: REASON -->     neither runs nor checks the block below
//
// testdata/PAGE.txtar contains the files that are in the project folder before the first
// command of the page runs. Two file names in it are special. "setup.sh" is a script that
// runs after the other files were created. "inline" says how to test commands in the
// running text of the page: if it has a line "SPAN => COMMAND", the test runs COMMAND, in a
// separate project, to test the text `SPAN`. The file "inline" must have such a line for
// every `gaffer …` in the running text of the page.
//
// Commands can use these programs, files and variables in addition to those of the
// machine:
//
//	keys TEXT COMMAND…   runs COMMAND in a terminal and types TEXT there
//	interrupt COMMAND…   kills COMMAND as soon as an agent works for it
//	~/play               a file that says what the stub of Claude Code does for each task
//	$EXAMPLES            the folder of examples
//	$OUTPUT              the file with the output of the last command
//	$POSTGRES            the URL of an empty PostgreSQL database
package docs
