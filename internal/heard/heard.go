// Package heard keeps what the hooks of agent programs say.
//
// A hook says what has happened ([Event]); [Fold] has it become what is known of
// the session, which is kept in a document ([Folder]), and says what is to be done
// about it. [Take] is all of that for one call of a hook.
//
// An agent waits for its hooks, so they must be quick: this package imports
// nothing that takes long to begin (see package early), and opens files without
// what package os does to have them polled.
package heard
