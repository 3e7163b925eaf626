// Package parts has the components that the live view of a run and the screens of 'gaffer watch'
// share: the table of a run's tasks, the rows of a question, and the line that the user types. The
// functions are pure.
package parts
