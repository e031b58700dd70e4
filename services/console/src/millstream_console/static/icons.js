// Lines on a grid of 16.

import { icon } from "./parts.js";

export const icons = {
  overview: () => icon("M2 13V9m4 4V5m4 8V7m4 6V3"),
  topics: () => icon("M2 4h12M2 8h12M2 12h8"),
  groups: () => icon("M5.5 7a2.25 2.25 0 1 0 0-4.5 2.25 2.25 0 0 0 0 4.500zM1.5 13.500c0-2.5 1.8-4 4-4s4 1.5 4 4M11 7.500a2 2 0 1 0-1-3.700M11.5 9.600c1.8.3 3 1.7 3 3.9"),
  transactions: () => icon("M2 5.500h10.500M9.5 2.500l3 3-3 3M14 10.500H3.500M6.5 7.500l-3 3 3 3"),
  brokers: () => icon("M2.5 2.500h11v4.500h-11zM2.5 9h11v4.500h-11zM5 4.750h.01M5 11.250h.01"),
  happened: () => icon("M8 14.500a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13zM8 4.500v4l2.700 1.600"),
  rights: () => icon("M8 1.500l5.5 2v4c0 3.5-2.3 6-5.5 7-3.2-1-5.5-3.5-5.5-7v-4zM5.7 8l1.7 1.7 3-3.2"),
};
