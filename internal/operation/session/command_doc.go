// Package command is the grammar of the commands that a person types to an agent:
// `/fork --name ada "look at the tests"`. The terminal and HTTP use the same one.
//
// Parse takes a line, with or without the slash, and returns a Command or a USAGE
// fault that names the place, the nearest thing that would have been understood,
// and the usage of the command. It checks the form alone; whether an agent, label
// or model exists is for those who carry the command out.
//
// Words are separated by white space, and quoted as in a shell: 'as it is',
// "with \" and \\", and a backslash before one character. A last argument that is
// text may also stand without quotes: then it is the rest of the line, as it is.
// Options go before it.
//
// The Table says the same to people and to Complete.

package session
