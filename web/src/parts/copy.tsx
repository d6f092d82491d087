// Buttons that copy.
import { useState } from "preact/hooks";

// put copies a text and says whether it was allowed. Where the page is not local there is no
// clipboard for it.
async function put(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

const said = (ok: boolean) => (ok ? "Copied" : "Not allowed here");

// copied answers a click on the copy button of a block of code inside of Markdown.
export function copied(e: MouseEvent) {
  const button = (e.target as Element).closest?.("button.copy");
  const code = button?.closest(".codebox")?.querySelector("pre")?.textContent;
  if (!button || code == null) return;
  put(code).then((ok) => {
    button.textContent = said(ok);
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

export function Copy({ text, what }: { text: () => string; what: string }) {
  const [now, set] = useState("");
  return (
    <button type="button" class="quiet copy" aria-label={now ? undefined : "Copy " + what} onClick={() => put(text()).then((ok) => {
      set(said(ok));
      setTimeout(() => set(""), 2000);
    })}>{now || "Copy"}</button>
  );
}
