// The shapes of the HTTP API that the page reads: docs/http.md and docs/json.md
// say what they mean. Fields that the page does not use are left out.

export interface Money {
  tokens: number;
  cost_nano_usd: number;
}

// State is what an agent does, or how it ended.
export interface State {
  word: "working" | "asks" | "waits" | "needs a key" | "idle" | "done" | "failed" | "interrupted" | "killed";
  detail?: string | null;
  foreign_content?: string | null; // where content in its context came from that neither the user nor the project wrote
}

export interface Agent {
  uuid: string;
  name: string | null;
  parent_uuid: string | null;
  fork_message_id: number | null;
  status: "running" | "dead";
  end_reason: string | null;
  created_at: string;
  ended_at: string | null;
  depth: number;
  own_messages: number;
  total_messages: number;
  unread_mail: number;
  head_message_id: number | null;
  provider: string | null;
  model: string | null;
  driver?: string; // the program that drives it
  cwd: string | null;
  state?: State | null;
  spent: Money | null;
  budget: { tokens: number | null; cost_nano_usd: number | null } | null;
}

export interface Part {
  type: string;
  text?: string;
  call_id?: string;
  name?: string;
  args?: unknown;
  is_error?: boolean;
  media_type?: string;
  data?: string;
  size?: number;
  cut?: boolean;
  malformed?: string;
  show?: string;
  sources?: Source[];
}

// Source is a page that a text rests on.
export interface Source { url: string; title?: string; quote?: string }

export interface Meta {
  parent_uuid?: string;
  children?: string[];
  run?: string;
  label?: string;
  target?: string;
  reason?: string;
  command?: string;
  to?: string;
  mode?: string;
  actor?: Actor;
  permission?: Permission;
  call_id?: string;
  provider?: string;
  model?: string;
  driver?: { name: string; version?: string; session?: string; from?: string; rendered?: boolean };
  files?: { none?: string; changed: number; when?: string; seen?: number; of?: number };
  call?: { model: string; outcome: string; input: number; output: number; cache_read: number; cache_write: number; cost_nano_usd: number; priced: boolean; took_ms: number };
}

// FileChange is a path at which two states of files differ.
export interface FileChange {
  path: string;
  verb: string;
  diff: string;
  note?: string;
}

// Who did something, and from where.
export interface Actor { who: string; face: string }

// Who let a call run, or did not.
export interface Permission {
  answer: string; // allowed or refused
  by: string; // person, rule, mode or nobody
  choice?: string;
  actor?: Actor;
  rule?: string;
  from?: string;
  mode?: string;
  confined?: boolean;
  at: string;
}

// How the calls of an agent are permitted.
export interface Mode { mode: string; of: string | null; grants: { rule: string; to: string; by: string }[] | null; program?: Program }

// What the program that drives an agent offers, in its own words.
export interface Program {
  driver: string;
  mode: string | null;
  boxed: boolean | null;
  modes: Offered[];
  models: Offered[];
  efforts: Offered[];
  commands: Offered[];
}
export interface Offered { word: string; title: string; about: string; hint: string | null }

export interface Message {
  id: number;
  agent_uuid: string;
  kind: string;
  parts: Part[] | null;
  meta: Meta | null;
  created_at: string;
  hash: string;
  in_context?: boolean;
  redacted?: boolean;
}

// A piece of a part that is too large to stand in a list.
export interface Piece {
  type: string;
  media_type?: string;
  text: string;
  data?: string;
  size: number;
  next: number | null;
}

export interface Letter {
  id: number;
  number: number;
  from_uuid: string | null;
  to_uuid: string;
  body: string;
  created_at: string;
  read_at: string | null;
  in_reply_to: number | null;
}

export interface Ask {
  id: string;
  agent_uuid: string;
  tool: string;
  text: string; // one line
  subject?: string; // all of it
  whole?: string; // all that the call would do, if the subject is not
  call_id?: string;
  mode?: string;
  outside?: boolean; // of the box
  where?: string; // in which folder, and whether in the background
  reason?: string; // the model's, why it should run there
  choices?: Choice[] | null; // in the order in which they are offered
  why?: string;
  change?: { patch?: string; removed: string; added: string }; // what it would write
  asked_at: string;
  until?: string;
}

export interface Choice {
  choice: "no" | "because" | "once" | "agent" | "project" | "1" | "2" | "3" | "4";
  text: string;
  rule?: string; // what it would grant or save
  no?: string; // why it cannot be chosen
}

// What in the project acts, and how it differs from what a person accepted.
export interface Trust {
  project: string;
  trusted: boolean;
  given: boolean;
  digest: string;
  things: Thing[];
}

export interface Thing {
  kind: string;
  path: string;
  size: number;
  does: string;
  change: string; // same, new, changed, gone
  refused: string | null;
  invisible: string[];
  diff: string;
}

// The screen of all agents.
export interface Home {
  rows: HomeRow[];
  agents: number;
  asking: number;
  spent: Money;
  budget: { tokens: number | null; cost_nano_usd: number | null } | null;
}

export interface HomeRow {
  uuid: string;
  name: string;
  group: string;
  state: State;
  does: string;
  indent: number;
  last: boolean;
  path: string[];
  asked: string | null;
  said: string | null;
  model: string | null;
  driver: string | null;
  spent: Money;
  since: string;
  ticks: boolean;
  unread_mail: number;
  below: number;
  folded: number;
  change: { branch: string; files: number; added: number; removed: number } | null;
  run: { run_id: string; run_state: string; done: number; of: number } | null;
}

// Everybody who ever was, in time.
export interface Lineage {
  agents: LineageAgent[];
  points: LineagePoint[];
  letters: LineageLetter[];
  more: boolean;
}

export interface LineageAgent {
  uuid: string;
  name: string;
  parent_uuid: string | null;
  fork_message_id: number | null;
  state: State;
  from: string;
  until: string;
  killed: boolean;
  end_reason: string | null;
  own_messages: number;
  spent: Money;
  run: boolean;
}

export interface LineagePoint {
  agent_uuid: string;
  message_id: number;
  kind: string;
  at: string;
  text: string | null;
  target_id: number | null;
  target_at: string | null;
}

export interface LineageLetter {
  id: number;
  number: number;
  from_uuid: string | null;
  about_uuid: string | null;
  to_uuid: string;
  at: string;
  read: boolean;
}

// A message in which words were found.
export interface Hit {
  agent_uuid: string;
  message_id: number;
  kind: string;
  created_at: string;
  around: string;
}

export interface Fault {
  code: string;
  message: string;
  hint?: string;
}

export interface Line {
  type: string;
  agent_uuid?: string;
  text?: string;
  call_id?: string;
  tool?: string;
  is_error?: boolean;
  message?: Message;
  attempt?: { number: number; of: number; wait_ms: number; error: Fault | null };
  cost_nano_usd?: number;
  usage?: { input: number; output: number; cache_read: number; cache_write: number };
  children?: string[];
  turn?: number;
  state?: State;
  error?: Fault;
}

// A telemetry run.
export interface Run {
  event_id: string;
  run_id: string;
  parent_run_id?: string | null;
  agent_name: string;
  job_type: string;
  status: string;
  start_time: string;
  end_time?: string | null;
  duration_ms?: number | null;
  created_at: string;
  updated_at: string;
  product?: string;
  items_discovered?: number;
  items_succeeded?: number;
  items_failed?: number;
  items_skipped?: number;
  input_summary?: string;
  output_summary?: string;
  error_summary?: string;
  error_details?: string;
  source_ref?: string;
  target_ref?: string;
  git_repo?: string;
  git_branch?: string;
  git_commit_hash?: string;
  host?: string;
  environment?: string;
  trigger_type?: string;
  metrics_json?: Record<string, unknown> | null;
  context_json?: Record<string, unknown> | null;
}

export interface Sums {
  records: number;
  llm_calls: number;
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  api_cost_usd: number;
  duration_ms: number;
}

export interface Branch extends Run {
  sums: Sums;
  children: Branch[] | null;
}

export interface LogRow {
  run_id: string;
  run_state: string;
  status: string; // running, stopped, done, failed, cancelled, kept
  reason: string | null;
  event_count: number;
  created_at: string;
  updated_at: string;
  error: string | null;
  recipe: string | null;
  repo: string | null;
  pr_url: string | null;
  cost_nano_usd: number;
  calls: number;
}

export interface RunEvent {
  event_id: string;
  event_hash: string;
  prev_hash: string;
  run_id: string;
  trace_id: string;
  span_id: string;
  parent_span_id?: string;
  ts: string;
  type: string;
  payload: unknown;
}

export interface Snapshot {
  run_id: string;
  run_state: string;
  created_at: string;
  updated_at: string;
  event_count: number;
  last_event_hash: string;
  failure: { code: string; from_state: string; message: string; ts: string } | null;
  pr: { bundle: string | null; opened_at: string; url: string | null } | null;
  section_states: Record<string, string>;
  artifacts: { name: string; path: string; sha256: string; ts: string; writer_worker: string | null }[];
  gates: { name: string; ok: boolean | null; runs: number; issues: string[]; started_at: string | null; finished_at: string | null }[];
  issues: { issue_id: string; gate: string; severity: string; status: string; message: string; error_code: string | null; files: string[] | null; suggested_fix: string | null; opened_at: string; resolved_at: string | null }[];
  work_items: { work_item_id: string; worker: string; scope_key: string; status: string; attempt: number; started_at: string | null; finished_at: string | null; error: Fault | null }[];
}

export interface Verified {
  ok: boolean;
  run_id: string;
  events: number;
  lines: number;
  checkpoints: number;
  covered: number;
  snapshot: string;
}

export interface UsageRow {
  key: string;
  agent_uuid: string | null;
  calls: number;
  failed: number;
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
  cost_nano_usd: number;
  unpriced: number;
  took_ms: number;
}

export interface Usage {
  by: string;
  rows: UsageRow[];
  total: UsageRow;
}

export interface Tracked {
  agent_id: string;
  agent_type: string;
  task_description: string;
  status: string;
  timestamp: string;
  completion_timestamp: string | null;
  reason: string | null;
}

export interface Project {
  key: string; // names it in addresses: /p/KEY/
  name: string;
  folder: string;
  open: boolean;
  working: number;
  questions: number;
  gone: boolean;
}
