"""`compare --platform`: what a platform costs against another. Pure."""
