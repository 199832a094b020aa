"""SciPy's and scikit-learn's own tests for arrays of any library of the Array API standard, run on tnp's."""
