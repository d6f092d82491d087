package fault

import "slices"

// Code names one kind of failure. Codes are public and never change meaning.
type Code string

// The codes, in the order of their exit codes.
const (
	Failed         Code = "FAILED"
	BudgetExceeded Code = "BUDGET_EXCEEDED"
	TimedOut       Code = "TIMEOUT"
	LoopDetected   Code = "LOOP_DETECTED"
	GateFailed     Code = "GATE_FAILED"
	NoProgress     Code = "NO_PROGRESS"
	OutputInvalid  Code = "OUTPUT_INVALID"
	ForgeRefused   Code = "FORGE_REFUSED"
	Killed         Code = "KILLED"

	Usage         Code = "USAGE"
	InvalidID     Code = "INVALID_ID"
	InvalidName   Code = "INVALID_NAME"
	InvalidLabel  Code = "INVALID_LABEL"
	InvalidText   Code = "INVALID_TEXT"
	InvalidKind   Code = "INVALID_KIND"
	InvalidConfig Code = "INVALID_CONFIG"
	InvalidEvent  Code = "INVALID_EVENT"
	InvalidRecipe Code = "INVALID_RECIPE"
	InvalidField  Code = "INVALID_FIELD"

	NotFound Code = "NOT_FOUND"

	Locked            Code = "LOCKED"
	Leased            Code = "LEASED"
	Fenced            Code = "FENCED"
	DeadAgent         Code = "DEAD_AGENT"
	AgentZero         Code = "AGENT_ZERO"
	Ambiguous         Code = "AMBIGUOUS"
	Conflict          Code = "CONFLICT"
	IllegalTransition Code = "ILLEGAL_TRANSITION"
	UnknownOutcome    Code = "UNKNOWN_OUTCOME"
	IDReused          Code = "ID_REUSED"

	InvalidStateTransition Code = "INVALID_STATE_TRANSITION"

	EventChainBroken Code = "EVENT_CHAIN_BROKEN"
	ArtifactChanged  Code = "ARTIFACT_CHANGED"
	HistoryDamaged   Code = "HISTORY_DAMAGED"

	StorageFull        Code = "STORAGE_FULL"
	StorageReadOnly    Code = "STORAGE_READONLY"
	StorageCorrupt     Code = "STORAGE_CORRUPT"
	StorageForeign     Code = "STORAGE_FOREIGN"
	StorageNewer       Code = "STORAGE_NEWER"
	StorageUnreachable Code = "STORAGE_UNREACHABLE"
	StorageIO          Code = "STORAGE_IO"

	Denied    Code = "DENIED"
	Untrusted Code = "UNTRUSTED"

	ProviderAuth        Code = "PROVIDER_AUTH"
	ProviderRateLimit   Code = "PROVIDER_RATE_LIMIT"
	ProviderOverloaded  Code = "PROVIDER_OVERLOADED"
	ProviderBadRequest  Code = "PROVIDER_BAD_REQUEST"
	ProviderNotFound    Code = "PROVIDER_NOT_FOUND"
	ProviderUnreachable Code = "PROVIDER_UNREACHABLE"
	ProviderProtocol    Code = "PROVIDER_PROTOCOL"
	ProviderContext     Code = "PROVIDER_CONTEXT"
	StreamCut           Code = "STREAM_CUT"

	Unread Code = "UNREAD"

	Interrupted Code = "INTERRUPTED"
	Cancelled   Code = "CANCELLED"
)

// Row is one line of the table: a code, its exit code and its meaning.
type Row struct {
	Code    Code
	Exit    int
	Meaning string
}

var table = []Row{
	{Failed, 1, "the work itself failed"},
	{BudgetExceeded, 1, "a limit on cost, tokens, steps or time was reached"},
	{TimedOut, 1, "the time allowed ran out"},
	{LoopDetected, 1, "a model repeats a call that fails"},
	{GateFailed, 1, "a gate of a run found a problem that could not be fixed, or took too long"},
	{NoProgress, 1, "an issue of a run stayed after all its attempts"},
	{OutputInvalid, 1, "a work item did not make what it promised, or an answer not in its form"},
	{ForgeRefused, 1, "the forge did not take the branch or the pull request"},
	{Killed, 1, "the agent that did a work item was killed"},
	{Usage, 2, "unknown command or flag, or a missing or superfluous argument"},
	{InvalidID, 2, "an id or prefix that cannot name anything"},
	{InvalidName, 2, "an agent name that breaks the naming rule"},
	{InvalidLabel, 2, "a mark label that breaks the label rule"},
	{InvalidText, 2, "text that is empty, too long, not UTF-8 or contains NUL"},
	{InvalidKind, 2, "a message kind that does not exist or may not be written by hand"},
	{InvalidConfig, 2, "a configuration key or value that is not understood"},
	{InvalidEvent, 2, "an event or payload that does not have its form"},
	{InvalidRecipe, 2, "a recipe that cannot be carried out"},
	{InvalidField, 2, "a field of a request that is missing, unknown, or does not have its form"},
	{NotFound, 3, "no agent, message, mail, mark or file of that name"},
	{Locked, 4, "another process holds the database or a lock file"},
	{Leased, 4, "a live process holds the agent"},
	{Fenced, 4, "the lease was lost to a newer holder; nothing was written"},
	{DeadAgent, 4, "the agent is dead and the command needs a living one"},
	{AgentZero, 4, "agent 0 cannot be killed"},
	{Ambiguous, 4, "a prefix that fits several agents"},
	{Conflict, 4, "the request contradicts what is stored"},
	{IllegalTransition, 4, "the state does not allow this step"},
	{UnknownOutcome, 4, "whether something happened is not known: an external effect of a run (--redo decides), or a change whose answer the database server lost"},
	{IDReused, 4, "the same id with another body"},
	{InvalidStateTransition, 4, "a run or section does not go that way"},
	{EventChainBroken, 5, "a run's event log was changed or cut"},
	{ArtifactChanged, 5, "a file of a run is not what its log says"},
	{HistoryDamaged, 5, "an agent's history was changed or cut"},
	{StorageFull, 6, "no space left; nothing was lost, free space and repeat"},
	{StorageReadOnly, 6, "the database cannot be written"},
	{StorageCorrupt, 6, "the database file is cut or damaged"},
	{StorageForeign, 6, "the database belongs to another program"},
	{StorageNewer, 6, "the database was written by a newer ramet"},
	{StorageUnreachable, 6, "the database server does not answer"},
	{StorageIO, 6, "reading or writing the disk failed"},
	{Denied, 7, "not permitted"},
	{Untrusted, 7, "not accepted: a file of a project, or a run that is not this home's own"},
	{ProviderAuth, 8, "no key, a wrong one, or one without the right"},
	{ProviderRateLimit, 8, "the model's provider allows no more requests now"},
	{ProviderOverloaded, 8, "the model's provider is overloaded or fails on its side"},
	{ProviderBadRequest, 8, "the model's provider does not accept the request"},
	{ProviderNotFound, 8, "the provider has no such model"},
	{ProviderUnreachable, 8, "the model's provider does not answer"},
	{ProviderProtocol, 8, "the answer is not in the provider's format"},
	{ProviderContext, 8, "the context is too long for the model"},
	{StreamCut, 8, "the answer stopped in the middle; none of it counts"},
	{Unread, 9, "children reported, and the agent ended its turn without reading it"},
	{Interrupted, 130, "stopped by a signal"},
	{Cancelled, 130, "cancelled by the user"},
}

// Table returns every code with its exit code, in order.
func Table() []Row { return slices.Clone(table) }

// Exit returns the process exit code of an error; 0 for nil.
func Exit(err error) int {
	if err == nil {
		return 0
	}
	code := CodeOf(err)
	for _, row := range table {
		if row.Code == code {
			return row.Exit
		}
	}
	return 1
}
