// Package hookevents keeps what the hooks of agent programs say.
//
// A hook says what has happened ([Event]); [Fold] has it become what is known of
// the session, which is kept in a document ([Folder]), and says what is to be done
// about it. [Take] is all of that for one call of a hook.
//
// An agent waits for its hooks, so [Take] does no more than read an event and write
// one small file.
package hookevents
