"""The few figures that people look at, drawn with Matplotlib, which is imported only when one is drawn."""
