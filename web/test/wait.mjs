// eventually waits for what no locator can: the bound is reached only when something is wrong.
export async function eventually(what, is, most = 60_000) {
  for (const end = Date.now() + most; !(await is()); await new Promise((go) => setTimeout(go, 20))) {
    if (Date.now() > end) throw new Error("it never came: " + what);
  }
}
