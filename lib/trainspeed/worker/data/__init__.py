"""Images to train on: data sets, folds, augmentation, the user's own."""
