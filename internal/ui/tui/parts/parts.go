// Package parts has the components that several of gaffer's terminal screens share: the table of a
// run's tasks, the badge of a task's status, the rows of a question, and the line that the user
// types. The functions are pure.
package parts
