"""One look at one resource: observe, plan, carry out, write the status. Safe to run at any time and to stop anywhere."""
