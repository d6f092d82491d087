// Figures for people. The same figure is written the same way everywhere.

const plain = new Intl.NumberFormat("en"), cents = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

export function money(nano: number | null | undefined): string {
  const usd = (nano ?? 0) / 1e9;
  if (usd === 0) return "$0";
  if (usd < 0.0001) return "<$0.0001";
  if (usd < 0.01) return "$" + usd.toPrecision(2).replace(/\.?0+$/, "");
  return "$" + cents.format(usd);
}

export function short(n: number): string {
  if (n < 10_000) return plain.format(n);
  if (n < 1e6) return (n / 1e3).toFixed(n < 1e5 ? 1 : 0) + "k";
  if (n < 1e9) return (n / 1e6).toFixed(n < 1e8 ? 1 : 0) + "M";
  return (n / 1e9).toFixed(1) + "G";
}

export const whole = (n: number) => plain.format(n);

export function lasting(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return "\u2014";
  if (ms < 1000) return Math.round(ms) + " ms";
  if (ms < 60_000) return (ms / 1000).toFixed(ms < 10_000 ? 1 : 0) + " s";
  const min = Math.floor(ms / 60_000);
  const and = (n: number, unit: string) => (n ? " " + n + " " + unit : "");
  if (min < 60) return min + " min" + and(Math.floor((ms % 60_000) / 1000), "s");
  const h = Math.floor(min / 60);
  return h < 48 ? h + " h" + and(min % 60, "min") : Math.floor(h / 24) + " d" + and(h % 24, "h");
}

export function age(since: string, now: number): string {
  const s = Math.max(0, (now - Date.parse(since)) / 1000);
  if (!Number.isFinite(s)) return "\u2014";
  if (s < 60) return Math.floor(s) + " s";
  if (s < 3600) return Math.floor(s / 60) + " min";
  if (s < 172_800) return Math.floor(s / 3600) + " h";
  return Math.floor(s / 86_400) + " d";
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (n: number) => String(n).padStart(2, "0");
const hour = (d: Date) => `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;

// Moments are many, and Intl takes long for each.
const form = (f: (d: Date) => string, t: string | null | undefined) => {
  const at = t ? new Date(t) : null;
  return at && !Number.isNaN(at.getTime()) ? f(at) : "\u2014";
};
export const time = (t: string | null | undefined) => form((d) => `${d.getDate()} ${months[d.getMonth()]} ${d.getFullYear()}, ${hour(d)}`, t);
export const clock = (t: string | null | undefined) => form(hour, t);

// called is the name of an agent: one that has none has a number, or the beginning of its id.
export const called = (name: string, run = false) => (/^\d+$/.test(name) ? "agent " + name : run && /^[\w-]{8}$/.test(name) ? "run " + name : name);

export const plural = (n: number, one: string, many = one + "s") => whole(n) + " " + (n === 1 ? one : many);
