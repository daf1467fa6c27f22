// Snippets of a request for Python (the SDK, where it has the operation) and TypeScript. Neither key nor token is written out.
"use strict";

const Snippets = (() => {
  const text = (value) => JSON.stringify(value ?? "");
  const plain = (value) => (value && value.toJS ? value.toJS() : value);

  const parts = (request) => {
    const url = new URL(request.get("url"), document.baseURI);
    const headers = plain(request.get("headers")) || {};
    const body = plain(request.get("body"));
    const bearer = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
    return { url, bearer, method: request.get("method"), body: typeof body === "string" && body ? body : null };
  };

  const literal = (body) => {
    const indented = (value, depth) => {
      const space = "    ".repeat(depth + 1);
      if (value === null) return "None";
      if (value === true) return "True";
      if (value === false) return "False";
      if (Array.isArray(value)) return `[${value.map((one) => indented(one, depth + 1)).join(", ")}]`;
      if (typeof value === "object") {
        const members = Object.entries(value).map(([name, one]) => `${space}${text(name)}: ${indented(one, depth + 1)},\n`);
        return `{\n${members.join("")}${"    ".repeat(depth)}}`;
      }
      return JSON.stringify(value);
    };
    try { return indented(JSON.parse(body), 0); } catch { return text(body); }
  };

  // What the SDK calls the records of these resources.
  const MODELS = { states: "State", labels: "Label", cycles: "Cycle", modules: "Module", work_items: "WorkItem",
    work_item_types: "WorkItemType" };
  const PLACES = { workspaces: /^\/api\/v2\/workspaces\/([^/]+)\/projects\/([^/]+)\/([^/]+)\/(?:([^/]+)\/)?$/ };

  // The call of the SDK for a request; none for what it calls otherwise.
  const sdk = ({ url, method, body }) => {
    if (url.pathname === "/api/v2/users/me/") return { models: [], call: "client.v2.users.me()" };
    const [, slug, project, resource, id] = PLACES.workspaces.exec(url.pathname) || [];
    const name = (resource || "").replace(/-/g, "_");
    const model = MODELS[name];
    const verb = { GET: id ? "retrieve" : "list", POST: id ? null : "create", PATCH: id && "update", DELETE: id && "delete" }[method];
    if (!model || !verb || !/^[0-9a-f-]{36}$/i.test(id || "00000000-0000-0000-0000-000000000000")) return null;
    const values = [slug, project, id].filter(Boolean).map((one) => text(decodeURIComponent(one)));
    const query = [...url.searchParams].filter(([word]) => /^[a-z_]+$/.test(word));
    if (verb === "list") values.push(...query.map(([word, value]) => `${word}=${text(value)}`));
    else if (query.length) return null;
    const models = verb === "create" ? [`Create${model}`] : verb === "update" ? [`Update${model}`] : [];
    if (models.length) values.push(`${models[0]}(**${literal(body || "{}")})`);
    return { models: models.map((one) => `from plane.models.v2.${name} import ${one}`),
      call: `client.v2.workspaces.projects.${name}.${verb}(${values.join(", ")})` };
  };

  const python = (request) => {
    const asked = parts(request);
    const known = sdk(asked);
    if (known) {
      return ["import os", "from plane import PlaneClient  # pip install plane-sdk", ...known.models, "",
        `client = PlaneClient(base_url=${text(asked.url.origin)}, ${asked.bearer ? 'access_token=os.environ["TOKEN"]' : 'api_key=os.environ["API_KEY"]'})`,
        `print(${known.call})`].join("\n");
    }
    const lines = ["import os", "import requests", "", "answer = requests.request(", `    ${text(asked.method)},`,
      `    ${text(asked.url.href)},`, asked.bearer ? '    headers={"Authorization": "Bearer " + os.environ["TOKEN"]},' : '    headers={"X-Api-Key": os.environ["API_KEY"]},'];
    if (asked.body) lines.push(`    json=${literal(asked.body).replace(/\n/g, "\n    ")},`);
    return [...lines, ")", "answer.raise_for_status()", "print(answer.json())"].join("\n");
  };

  const typescript = (request) => {
    const { url, bearer, method, body } = parts(request);
    const credential = bearer ? '"Authorization": "Bearer " + process.env.TOKEN!' : '"X-Api-Key": process.env.API_KEY!';
    const headers = body ? `{ ${credential}, "Content-Type": "application/json" }` : `{ ${credential} }`;
    const lines = [`const answer = await fetch(${text(url.href)}, {`, `  method: ${text(method)},`, `  headers: ${headers},`];
    if (body) {
      let shown = body;
      try { shown = `JSON.stringify(${JSON.stringify(JSON.parse(body), null, 2).replace(/\n/g, "\n  ")})`; } catch { shown = text(body); }
      lines.push(`  body: ${shown},`);
    }
    return [...lines, "});", "if (!answer.ok) throw new Error((await answer.json()).detail);", "console.log(await answer.json());"]
      .join("\n");
  };

  const curl = (request) => {
    const { url, bearer, method, body } = parts(request);
    const quoted = (value) => `'${String(value).replace(/'/g, "'\\''")}'`;
    const lines = [`curl -X ${method} ${quoted(url.href)}`, bearer ? '  -H "Authorization: Bearer $TOKEN"' : '  -H "X-Api-Key: $API_KEY"'];
    if (body) lines.push("  -H 'Content-Type: application/json'", `  -d ${quoted(body)}`);
    return lines.join(" \\\n");
  };

  return { curl, python, typescript };
})();
