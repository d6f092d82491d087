// prefix begins the path of every request: it names the project of the page. Tests run without a location.
export const prefix = /^\/p\/[a-z0-9]+(?=\/)/.exec(globalThis.location?.pathname ?? "")?.[0] ?? "";
