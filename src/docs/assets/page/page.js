// The documentation page: shows the document of this gateway and sends requests with the key typed in.
// The key lives in the page's memory alone; reloading forgets it.
"use strict";

(async () => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", follow);
  follow();

  const place = document.getElementById("operations");
  const answer = await fetch("openapi.json").catch(() => null);
  if (!answer || !answer.ok) {
    place.textContent = "The document could not be loaded. Reload the page to try again.";
    return;
  }
  const spec = await answer.json();
  // Requests go to where the page came from: under another name of the gateway the browser would refuse them.
  const base = new URL("../../..", document.baseURI).href.replace(/\/$/, "");
  spec.servers = [{ url: base, description: "this gateway" }];

  const none = () => () => null;
  const ui = SwaggerUIBundle({
    spec,
    domNode: place,
    layout: "BaseLayout",
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [{ wrapComponents: { authorizeBtn: none, authorizeOperationBtn: none, ServersContainer: none } }],
    validatorUrl: null,
    deepLinking: true,
    docExpansion: "list",
    filter: true,
    tryItOutEnabled: true,
    persistAuthorization: false,
    displayRequestDuration: true,
    defaultModelsExpandDepth: -1,
    syntaxHighlight: { activated: true, theme: "nord" },
  });

  const key = document.getElementById("key");
  const state = document.getElementById("key-state");
  let used = false;
  const use = () => {
    const value = key.value.trim();
    if (value) {
      ui.preauthorizeApiKey("apiKey", value);
    } else if (used) {
      ui.authActions.logout(["apiKey"]);
    }
    used = value !== "";
    state.textContent = used ? "used for requests" : "";
  };
  key.addEventListener("input", use);
  document.getElementById("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    use();
  });
  use();
})();
