package public

// RunMade is a run that was begun, taken up again, forked or cancelled: where it is, and how
// far its log has come.
type RunMade struct {
	RunID string `json:"run_id"`
	Path  string `json:"path"`
	State string `json:"run_state"`
}

// RunStart asks for a run of a recipe.
type RunStart struct {
	Recipe  string            `json:"recipe,omitempty"` // a name, or the path of a file; docs
	Repo    string            `json:"repo,omitempty"`   // the repository: a path or a URL
	Into    string            `json:"into,omitempty"`   // the repository that is changed, if it is another one
	RunID   string            `json:"run_id,omitempty"` // made of time and configuration if absent
	Model   string            `json:"model,omitempty"`  // vendor/name
	Set     map[string]string `json:"set,omitempty"`    // parameters of the recipe
	Limits  map[string]string `json:"limits,omitempty"` // other limits than the recipe's, such as calls: "200"
	Accept  string            `json:"accept,omitempty"` // consents to a recipe that acts outside of the run, if it has this digest
	NoCache bool              `json:"no_cache,omitempty"`
}

// RunResume asks that a run goes on where its log ends.
type RunResume struct {
	Redo       []string          `json:"redo,omitempty"` // work items to do again
	Force      bool              `json:"force,omitempty"`
	FromFailed bool              `json:"from_failed,omitempty"`
	Accept     string            `json:"accept,omitempty"` // consents to a run that is not yours, if what would run has this digest
	Model      string            `json:"model,omitempty"`
	Limits     map[string]string `json:"limits,omitempty"`
	NoCache    bool              `json:"no_cache,omitempty"`
}

// RunCancel asks that a run ends for good.
type RunCancel struct {
	Reason string `json:"reason,omitempty"` // for the log
}

// RunFork asks for a run that continues another from one of its events.
type RunFork struct {
	At    string `json:"at"`               // event_id, or its number in the log
	RunID string `json:"run_id,omitempty"` // of the new run
}
