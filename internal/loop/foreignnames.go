package loop

import "ramet/internal/late"

// ours are our names of the tools that other programs call so: in conversations that were
// imported from them a model goes on calling what it called before.
var ours = late.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{
		"Bash": "bash", "Read": "read", "Write": "write", "Edit": "edit", "Glob": "glob", "Grep": "grep", "LS": "list", "WebFetch": "fetch", "TodoWrite": "plan",
		"Task": "fork", "Skill": "skill", "AskUserQuestion": "ask",
		"shell": "bash", "shell_command": "bash", "exec_command": "bash", "local_shell": "bash", "update_plan": "plan", "read_file": "read", "list_dir": "list", "grep_files": "grep",
		"webfetch": "fetch", "todowrite": "plan", "task": "fork", "ls": "list", "find": "glob",
	}
}}
