// A part that is drawn anew only when what it is given changes.
import { Component, h, type ComponentChild, type FunctionComponent } from "preact";

export function memo<P extends object>(of: FunctionComponent<P>): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const now = this.props as Record<string, unknown>;
      const then = next as Record<string, unknown>;
      return Object.keys(then).some((k) => k !== "children" && !Object.is(now[k], then[k]));
    }
    render(): ComponentChild { return h(of as FunctionComponent<object>, this.props); }
  }
  return Memo as unknown as FunctionComponent<P>;
}
