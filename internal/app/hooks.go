package app

import (
	"os"
	"path/filepath"

	"ramet/internal/core/agent"
	"ramet/internal/core/trust"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/operation/session"
	"ramet/internal/tools/hookprogram"
	"ramet/internal/turn/loop"
)

// hooksOf are the hooks of agents, in runs too.
func hooksOf(r request) func(agent.Agent) loop.Hooks {
	return func(a agent.Agent) loop.Hooks { return r.Project().HooksOf(a, r.Cwd) }
}

// hookRunner runs the hooks of a workspace: the project's confined as its commands are, the user's
// free, with what reaches the user's desktop.
func hookRunner(ws *session.Workspace) (hookprogram.Runner, error) {
	hide, err := hidden(ws)
	if err != nil {
		return hookprogram.Runner{}, err
	}
	project, err := filepath.EvalSymlinks(ws.Place.Project)
	if err != nil {
		return hookprogram.Runner{}, err
	}
	usual := launch.EnvironmentFor(os.Environ())
	return hookprogram.Runner{Project: project, Env: usual, Free: launch.ReachingVariables(os.Environ()),
		Box: func(dir string) (*sandbox.Box, error) {
			if err := sandbox.Available(); err != nil {
				return nil, err
			}
			root, err := ws.Writable(dir)
			if err != nil {
				return nil, err
			}
			box := &sandbox.Box{Write: []string{root}, Hide: hide, Guard: quarantine(ws), Guarded: []string{root}, Forbid: reserved(ws)}
			keep, err := readOnly(ws, root)
			box.Keep = append(keep, filepath.Join(root, ".claude"), filepath.Join(root, ".agents"))
			return box, err
		},
		Accepted: func(dir, command string) error {
			return hookprogram.Unaccepted(trust.Gate{Home: ws.Home, Project: project}, dir, command)
		}}, nil
}
