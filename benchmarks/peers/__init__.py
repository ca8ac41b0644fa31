"""Every policy that can run on Spark, side by side on one trace of arrival rates."""
