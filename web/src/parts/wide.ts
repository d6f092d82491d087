import { useEffect, useState } from "preact/hooks";

// useWide says whether the window is at least so many pixels wide.
export function useWide(pixels: number): boolean {
  const [is, set] = useState(() => matchMedia(`(min-width: ${pixels}px)`).matches);
  useEffect(() => {
    const m = matchMedia(`(min-width: ${pixels}px)`);
    const read = () => set(m.matches);
    read();
    m.addEventListener("change", read);
    return () => m.removeEventListener("change", read);
  }, [pixels]);
  return is;
}
