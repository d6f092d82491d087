// The project of the page. All projects of a user are at one address, each below /p/KEY/.
import { api } from "./api/client";
import { prefix } from "./api/prefix";
import type { Project } from "./api/types";
import { Cell } from "./cell";

export interface Projects {
  state: "loading" | "ready" | "failed";
  current: string; // key; empty: the address names none, and there are several
  all: Project[];
}

export const projects = new Cell<Projects>({ state: "loading", current: "", all: [] });

// nameOf is the last part of a project's folder.
export const nameOf = (p: Project) => p.folder.split(/[/\\]/).filter(Boolean).at(-1) ?? p.name;

// undecided reports whether the address names no project, and there are several.
export const undecided = (p: Projects) => p.state === "ready" && p.all.length > 0 && !p.all.some((one) => one.key === p.current);

export const projectName = new Cell("");

export async function readProjects(): Promise<void> {
  try {
    const { current, projects: all } = await api.projects();
    if (!prefix && current) {
      location.replace("/p/" + current + "/" + location.hash);
      return;
    }
    const here = all.find((p) => p.key === current);
    projectName.set(here ? nameOf(here) : "");
    projects.set({ state: "ready", current, all });
  } catch {
    projects.set({ ...projects.get(), state: projects.get().all.length ? "ready" : "failed" });
  }
}
