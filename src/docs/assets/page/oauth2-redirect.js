// The end of a login: tells the documentation page what the authorization server has answered, and closes the window.
"use strict";

(() => {
  const channel = new BroadcastChannel("causeway-login");
  channel.postMessage(location.search.slice(1));
  channel.close();
  // The code stays in no history.
  history.replaceState(null, "", location.pathname);
  window.close();
})();
