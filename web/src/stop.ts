// Stop, as Esc in the terminal: the turn ends, and what was sent and is not said yet comes back into the prompt.
import { api } from "./api/client";
import { Cell } from "./cell";

const sent = new Map<string, { ticket: string; text: string }[]>(), most = 50;

// returned grows when text came back into a draft.
export const returned = new Cell(0);
export const drafts = new Map<string, string>(); // what was begun stays when one looks elsewhere

// ticketFor names a prompt, so that it can be taken back.
export function ticketFor(uuid: string, text: string): string {
  const ticket = crypto.randomUUID ? crypto.randomUUID() : Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
  sent.set(uuid, [...(sent.get(uuid) ?? []), { ticket, text }].slice(-most));
  return ticket;
}

export async function stopTurn(uuid: string) {
  const mine = sent.get(uuid) ?? [];
  sent.delete(uuid);
  const { taken_back } = await api.interrupt(uuid, mine.map((s) => s.ticket));
  const back = mine.filter((s) => taken_back.includes(s.ticket)).map((s) => s.text);
  if (!back.length) return;
  drafts.set(uuid, [...back, drafts.get(uuid) ?? ""].filter(Boolean).join("\n\n"));
  returned.set(returned.get() + 1);
}
