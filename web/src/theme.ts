// Dark, light, or as the system says. The choice is kept in this browser.
import { Cell } from "./cell";

export type Theme = "system" | "light" | "dark";

function kept(): Theme {
  try {
    const t = localStorage.getItem("ramet-theme");
    return t === "light" || t === "dark" ? t : "system";
  } catch {
    return "system"; // storage may be forbidden
  }
}

export const theme = new Cell<Theme>(kept());

export function apply() {
  const t = theme.get();
  if (t === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = t;
}

export function turn() {
  const next: Record<Theme, Theme> = { system: "dark", dark: "light", light: "system" };
  theme.set(next[theme.get()]);
  apply();
  try {
    localStorage.setItem("ramet-theme", theme.get());
  } catch {
    // It holds until the page is closed.
  }
}
