import { Asks } from "../parts/asks";
import { Title } from "../parts/small";
import { Tree } from "../parts/tree";

export function AgentsView() {
  return (
    <div class="pane agents">
      <Title say="Agents" />
      <Asks />
      <Tree />
    </div>
  );
}
