"use strict";
// Before the first paint: the chosen colours, or the system's.
try {
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* storage is off: the system's colours */ }
