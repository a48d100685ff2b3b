// Runs before the first paint: the chosen theme and language, and the token out of the address.
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
    sessionStorage.setItem("foxwedge.token", decodeURIComponent(found[1]));
  } catch (_) {
    // Without a place to keep it, the page asks for it.
  }
  var rest = hash.replace(/(^|[?&])token=[^&]*/, "").replace(/^&/, "");
  history.replaceState(null, "", location.pathname + location.search + (rest ? "#" + rest : ""));
})();
