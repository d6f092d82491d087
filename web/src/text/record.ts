// What a record of telemetry is called: words, made of an id that is <launch>-<kind>-<unit>-a<attempt>.
import type { Run } from "../api/types";
import { brief } from "./visible";

const kinds: Record<string, string> = { orchestrator_node: "stage", worker: "worker", gate: "gate", llm_call: "model call", mcp_tool_call: "tool call", commit_service: "commit" };
const hash = /^[0-9a-f]{8,}$/;

export function recordTitle(r: Run, root: string): string {
  if (r.job_type === "launch") return brief(r.run_id);
  let own = r.run_id;
  for (const said of [r.parent_run_id ?? "", root]) if (said && own.startsWith(said + "-")) own = own.slice(said.length + 1);
  const at = own.lastIndexOf(r.job_type + "-");
  if (at >= 0) own = own.slice(at + r.job_type.length + 1);
  const m = /^(.*?)(?:-a(\d+))?$/.exec(own), unit = m?.[1] ?? own, attempt = Number(m?.[2] ?? 1);
  const again = attempt > 1 ? ", attempt " + attempt : "";
  const fact = (key: string) => (typeof r.context_json?.[key] === "string" ? String(r.context_json[key]) : "");
  switch (r.job_type) {
    case "llm_call": return (fact("model") || "model call") + again;
    case "mcp_tool_call": return (fact("tool") || fact("tool_name") || r.agent_name || "tool call") + again;
    case "orchestrator_node": return spoken(unit) + again;
    case "worker": return (hash.test(unit) ? "turn of " + (r.agent_name || "an agent") : r.agent_name && !unit.includes(r.agent_name) ? r.agent_name + ": " + spoken(unit) : spoken(unit)) + again;
    default: return (kinds[r.job_type] ?? r.job_type.replaceAll("_", " ")) + " " + spoken(unit) + again;
  }
}

// spoken makes words of CLONED_INPUTS and of section-intro.
function spoken(unit: string): string {
  const clean = brief(unit).replaceAll(/[_-]+/g, " ").replaceAll(":", " ").trim();
  return /[a-z]/.test(unit) ? clean : clean.toLowerCase();
}
