// Runs before the first paint: applies theme and language, and removes the token from the address.
(function () {
  var root = document.documentElement;
  try {
    var theme = localStorage.getItem("foxwedge.theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    var language = localStorage.getItem("foxwedge.language");
    if (!language) language = /^zh\b/i.test(navigator.language) ? "zh" : "en";
    root.lang = language === "zh" ? "zh-CN" : "en";
  } catch (_) {
    root.lang = "en";
  }
  var hash = location.hash.replace(/^#/, "");
  var found = /(?:^|[?&])token=([^&]*)/.exec(hash);
  if (!found) return;
  try {
    // A link does not replace a token that may still work.
    var key = sessionStorage.getItem("foxwedge.token") ? "foxwedge.offered" : "foxwedge.token";
    sessionStorage.setItem(key, decodeURIComponent(found[1]));
  } catch (_) {
    // Without storage, the page prompts for the token.
  }
  var rest = hash
    .replace(/(^|[?&])token=[^&]*/g, function (_, before) {
      return before === "?" ? "?" : "";
    })
    .replace(/\?&/, "?")
    .replace(/[?&]$/, "")
    .replace(/^&/, "");
  history.replaceState(null, "", location.pathname + location.search + (rest ? "#" + rest : ""));
})();
