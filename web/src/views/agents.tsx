// All agents: as a list by what a person can do about them, as a tree with the dead, as lines in time.
import { useCell } from "../cell";
import { Asks } from "../parts/asks";
import { HomeList } from "../parts/home";
import { LineageGraph } from "../parts/lineage";
import { Title } from "../parts/small";
import { Tree } from "../parts/tree";
import { put, route } from "../route";

const looks: [string, string][] = [["", "List"], ["tree", "Tree"], ["lineage", "Lineage"]];

export function AgentsView() {
  const look = useCell(route).query.get("view") ?? "";
  return (
    <div class="pane agents">
      <div class="titled">
        <Title say="Agents" />
        <div class="tabs" role="group" aria-label="Show as">{looks.map(([key, word]) => <button key={key} type="button" aria-pressed={look === key} onClick={() => put({ view: key })}>{word}</button>)}</div>
      </div>
      <Asks />
      {look === "tree" ? <Tree /> : look === "lineage" ? <LineageGraph /> : <HomeList />}
    </div>
  );
}
