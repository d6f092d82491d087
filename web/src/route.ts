// Places of the page, in the part of the address behind #. Every view can be linked
// to and reloaded.
import { Cell } from "./cell";

export interface Route { path: string[]; query: URLSearchParams }

function parse(): Route {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map((p) => {
    try {
      return decodeURIComponent(p);
    } catch {
      return p;
    }
  });
  return { path: parts.length ? parts : ["agents"], query: new URLSearchParams(query) };
}

export const route = new Cell<Route>(parse());
addEventListener("hashchange", () => route.set(parse()));

export function to(path: string[], query: Record<string, string> = {}): string {
  const q = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== "")).toString();
  return "#/" + path.map(encodeURIComponent).join("/") + (q ? "?" + q : "");
}

export const go = (path: string[], query: Record<string, string> = {}) => { location.hash = to(path, query); };

// put changes the query of the present place without a new step in the history.
export function put(query: Record<string, string>) {
  const now = route.get();
  history.replaceState(null, "", to(now.path, { ...Object.fromEntries(now.query), ...query }));
  route.set(parse());
}
