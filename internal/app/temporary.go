package app

import (
	"context"
	"os"
	"path/filepath"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/launch/sandbox"
	"ramet/internal/operation/session"
)

// temporaryFolders returns the folder with the temporary folders of a project's agents.
func temporaryFolders(ws *session.Workspace) string {
	return filepath.Join(ws.Home, "tmp", config.WorkspaceName(ws.Place.Project))
}

// temporaryFolder returns the folder that an agent's confined commands find at /tmp; empty without an agent.
func temporaryFolder(ws *session.Workspace, a id.Agent) string {
	if a == "" {
		return ""
	}
	return filepath.Join(temporaryFolders(ws), string(a))
}

// removeTemporary removes the temporary folder of an agent that has ended.
func removeTemporary(ctx context.Context, r request, a id.Agent) {
	if known, err := r.Store.Agent(ctx, a); err == nil && known.Status == agent.Dead {
		sandbox.RemoveAll(filepath.Join(temporaryFolders(r.Workspace), string(a)))
	}
}

// removeTemporaries removes those of agents that ended in processes which were killed.
func removeTemporaries(ctx context.Context, r request) {
	entries, _ := os.ReadDir(temporaryFolders(r.Workspace))
	for _, e := range entries {
		removeTemporary(ctx, r, id.Agent(e.Name()))
	}
}
