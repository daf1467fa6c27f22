// The documentation page: shows the document of this gateway and sends requests with the key typed in. The key is
// checked at once, the workspace typed once, the project picked; both go into every operation.
// Who has no key at hand logs in with OAuth instead. Key and token live in the page's memory alone; reloading forgets them.
"use strict";

(async () => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", follow);
  follow();

  const at = (id) => document.getElementById(id);
  const place = at("operations");
  const answer = await fetch("openapi.json").catch(() => null);
  if (!answer || !answer.ok) {
    place.textContent = "The document could not be loaded. Reload the page to try again.";
    return;
  }
  const spec = await answer.json();
  // Requests go to where the page came from: under another name of the gateway the browser would refuse them.
  const base = new URL("../../..", document.baseURI).href.replace(/\/$/, "");
  spec.servers = [{ url: base, description: "this gateway" }];
  // A description that only repeats the name says nothing.
  const bare = (text) => (text || "").toLowerCase().replace(/[^a-z]/g, "");
  for (const tag of spec.tags || []) if (bare(tag.description) === bare(tag.name)) delete tag.description;

  const cost = at("cost");
  // What a call cost, from the headers of its answer.
  const costOf = (headers) => {
    const calls = headers["causeway-v1-calls"];
    if (calls === undefined) return "";
    const took = /total;dur=([0-9.]+)/.exec(headers["server-timing"] || "");
    const ignored = headers["causeway-ignored"];
    return [`${calls} ${calls === "1" ? "call" : "calls"} to v1`, took && `${Math.round(took[1])} ms`,
      ignored && `ignored: ${ignored}`].filter(Boolean).join(", ");
  };

  const none = () => () => null;
  const withCost = (Original, system) => (props) => {
    const headers = props.response && props.response.get("headers");
    const told = headers ? costOf(headers.toJS ? headers.toJS() : headers) : "";
    const element = system.React.createElement;
    return element("div", null, told ? element("p", { className: "told-cost" }, `This took ${told}.`) : null, element(Original, props));
  };
  // The head of an operation is a button. With a link inside it, neither can be told from the other by a screen reader;
  // the same link stands in the contents at the side.
  const withoutLink = (Original, system) => (props) => {
    const operationProps = props.operationProps.set("isDeepLinkingEnabled", false);
    return system.React.createElement(Original, { ...props, operationProps });
  };
  const ui = SwaggerUIBundle({
    spec,
    domNode: place,
    layout: "BaseLayout",
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [{
      wrapComponents: {
        authorizeBtn: none,
        authorizeOperationBtn: none,
        ServersContainer: none,
        liveResponse: withCost,
        OperationSummaryPath: withoutLink,
      },
      fn: {
        requestSnippetGenerator_curl: Snippets.curl,
        requestSnippetGenerator_python: Snippets.python,
        requestSnippetGenerator_typescript: Snippets.typescript,
      },
    }],
    requestSnippetsEnabled: true,
    requestSnippets: {
      generators: {
        curl: { title: "curl", syntax: "bash" },
        python: { title: "Python", syntax: "python" },
        typescript: { title: "TypeScript", syntax: "javascript" },
      },
      languages: ["curl", "python", "typescript"],
      defaultExpanded: true,
    },
    responseInterceptor: (response) => {
      const told = costOf(response.headers || {});
      if (told) cost.textContent = `Last call: ${response.status}, ${told}`;
      return response;
    },
    validatorUrl: null,
    deepLinking: true,
    docExpansion: "list",
    filter: false,
    tryItOutEnabled: true,
    persistAuthorization: false,
    displayRequestDuration: true,
    defaultModelsExpandDepth: -1,
    syntaxHighlight: { activated: true, theme: "nord" },
  });

  Reach.keep(place);

  const narrow = window.matchMedia("(max-width: 900px)");
  const contents = at("contents");
  const fit = () => { contents.open = !narrow.matches; };
  narrow.addEventListener("change", fit);
  fit();
  const all = Contents.operations(spec);
  Contents.show(spec, at("list"), at("search"), (operation) => {
    ui.layoutActions.show(["operations", operation.tag, operation.id], true);
    if (narrow.matches) contents.open = false;
    const block = document.querySelector(`[id="operations-${operation.tag.replace(/ /g, "_")}-${operation.id}"]`);
    if (block) requestAnimationFrame(() => block.scrollIntoView({ block: "start" }));
  });

  const [key, workspace, project, choice, state] = ["key", "workspace", "project", "project-choice", "key-state"].map(at);
  // A value of the path, put into every operation that has it.
  const fill = (name, value) => {
    for (const { path, method } of all.filter((one) => one.path.includes(`{${name}}`))) {
      ui.specActions.changeParam([path, method], name, "path", value, false);
    }
  };

  let [asked, used, token] = [0, false, null];
  const credential = () => {
    if (key.value.trim()) return { "X-Api-Key": key.value.trim() };
    return token ? { Authorization: `Bearer ${token}` } : {};
  };
  const ask = async (path) => {
    const response = await fetch(base + path, { headers: credential() }).catch(() => null);
    return { status: response ? response.status : 0, json: response ? await response.json().catch(() => ({})) : {} };
  };
  const say = (text, bad) => {
    state.textContent = text;
    state.classList.toggle("bad", Boolean(bad));
    key.setAttribute("aria-invalid", bad ? "true" : "false");
  };

  // The projects of the workspace; v1 lists them for keys of its own only.
  const projects = async (slug) => {
    const listed = slug ? await ask(`/api/v1/workspaces/${encodeURIComponent(slug)}/projects/?per_page=100`) : { json: {} };
    const rows = Array.isArray(listed.json.results) ? listed.json.results : [];
    const options = rows.map((row) => Object.assign(document.createElement("option"), { value: row.id, textContent: `${row.identifier}  ${row.name}` }));
    choice.hidden = !rows.length;
    project.hidden = Boolean(rows.length);
    choice.replaceChildren(...options);
    if (rows.length) {
      choice.value = rows.some((row) => row.id === project.value) ? project.value : rows[0].id;
      project.value = choice.value;
    }
    fill("project_id", project.value.trim());
    return { status: listed.status, count: rows.length };
  };

  const check = async () => {
    const [value, slug, turn] = [key.value.trim(), workspace.value.trim(), ++asked];
    fill("slug", slug);
    if (used) ui.authActions.logout(["apiKey", "oauth2"]);
    used = false;
    if (!value && !token) return say("Type a key; it is checked at once.");
    say("Checking…");
    const me = await ask("/api/v2/users/me/");
    if (turn !== asked) return;
    if (me.status !== 200) {
      return say(me.json.detail ? `Refused: ${me.json.detail}` : "The gateway does not answer.", true);
    }
    if (value) ui.preauthorizeApiKey("apiKey", value);
    else {
      const schema = spec.components.securitySchemes.oauth2;
      ui.authActions.authorizeOauth2({ auth: { name: "oauth2", schema }, token: { access_token: token, token_type: "Bearer" } });
    }
    used = true;
    const who = me.json.display_name || me.json.email;
    if (!slug) return say(`You are ${who}. Type your workspace to fill it in everywhere.`);
    if (!value) return say(`You are ${who}. With OAuth no projects can be listed; type the id of one.`);
    const found = await projects(slug);
    if (turn !== asked) return;
    if (found.count) return say(`You are ${who}, in ${slug}.`);
    const own = value.startsWith("cwk_");
    say(own ? `You are ${who}. A gateway key cannot list projects; type the id of one.`
      : `You are ${who}, but ${slug} shows you no projects.`, !own);
  };

  let later;
  const soon = () => { clearTimeout(later); later = setTimeout(check, 400); };
  key.addEventListener("input", soon);
  workspace.addEventListener("input", soon);
  project.addEventListener("input", () => fill("project_id", project.value.trim()));
  choice.addEventListener("change", () => { project.value = choice.value; fill("project_id", choice.value); });
  at("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(later);
    check();
  });

  const { known, why } = await Login.client();
  const [form, scope, enter, leave] = ["login", "login-scope", "log-in", "log-out"].map(at);
  at("login-why").textContent = why || "";
  at("login-why").hidden = !why;
  form.hidden = !known;
  const logged = (given) => {
    token = given;
    [enter.hidden, scope.disabled, leave.hidden] = [Boolean(token), Boolean(token), !token];
    return check();
  };
  if (known && known.scopes.length) {
    scope.replaceChildren(Object.assign(document.createElement("option"), { value: known.scopes.join(" "), textContent: known.scopes.join(", ") }));
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const given = await Login.log_in(base, known, scope.value);
      key.value = "";
      await logged(given.token);
    } catch (fault) {
      say(`Not logged in: ${fault.message}.`, true);
    }
  });
  leave.addEventListener("click", async () => {
    await Login.log_out(base, known, token);
    await logged(null);
  });
})();
