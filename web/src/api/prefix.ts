// prefix begins the path of every request: it names the project of the page.
export const prefix = /^\/p\/[a-z0-9]+(?=\/)/.exec(location.pathname)?.[0] ?? "";
